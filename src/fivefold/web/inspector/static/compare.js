// Lines from a memory to the same memory in the next column. Without them the page shows the ranks as text.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function cardsOf(column) {
  return new Map([...column.querySelectorAll("[data-id]")].map((card) => [card.dataset.id, card]));
}

function curve(from, to, frame) {
  const x1 = from.right - frame.left, x2 = to.left - frame.left;
  const y1 = from.top + from.height / 2 - frame.top, y2 = to.top + to.height / 2 - frame.top;
  const bend = (x2 - x1) / 2;
  return `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

let groups = new Map();

function draw() {
  groups = new Map();
  const pairs = document.querySelector("[data-pairs]");
  if (!pairs) return;
  const drawing = pairs.querySelector(".joins"), frame = pairs.getBoundingClientRect();
  drawing.replaceChildren();
  let before = new Map();
  for (const column of pairs.querySelectorAll(".column")) {
    const cards = cardsOf(column);
    for (const [id, card] of cards) {
      const group = groups.get(id) ?? [];
      groups.set(id, group);
      group.push(card);
      if (!before.has(id)) continue;
      const line = document.createElementNS(SVG, "path");
      line.setAttribute("d", curve(before.get(id).getBoundingClientRect(), card.getBoundingClientRect(), frame));
      drawing.append(line);
      group.push(line);
    }
    before = cards;
  }
}

for (const [event, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
  document.addEventListener(event, ({ target }) => {
    const group = groups.get(target.closest("[data-id]")?.dataset.id) ?? [];
    if (group.length > 1) group.forEach((part) => part.classList.toggle("highlight", on));
  });
}

new ResizeObserver(draw).observe(document.body);
document.addEventListener("htmx:afterSettle", draw);
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-chooses]")) event.target.form.requestSubmit();
});
draw();
