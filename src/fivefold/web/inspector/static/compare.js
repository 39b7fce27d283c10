// Lines from a memory on the left to the same memory on the right. Without them the page shows the ranks as text.
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

let lines = new Map();

function draw() {
  lines = new Map();
  const pairs = document.querySelector("[data-pairs]");
  if (!pairs) return;
  const drawing = pairs.querySelector(".joins");
  const [left, right] = [...pairs.querySelectorAll(".column")].map(cardsOf);
  const frame = pairs.getBoundingClientRect();
  drawing.setAttribute("width", frame.width);
  drawing.setAttribute("height", frame.height);
  drawing.replaceChildren();
  const across = pairs.querySelectorAll(".column")[1].getBoundingClientRect().top === frame.top;
  if (!across) return;
  for (const [id, card] of left) {
    const other = right.get(id);
    if (!other) continue;
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("d", curve(card.getBoundingClientRect(), other.getBoundingClientRect(), frame));
    drawing.append(line);
    lines.set(card, line).set(other, line);
  }
}

for (const [event, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
  document.addEventListener(event, ({ target }) => lines.get(target.closest("[data-id]"))?.classList.toggle("highlight", on));
}

new ResizeObserver(draw).observe(document.body);
document.addEventListener("htmx:afterSettle", draw);
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-chooses]")) event.target.form.requestSubmit();
});
draw();
