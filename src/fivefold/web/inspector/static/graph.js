// Draws the entities in `data-graph` and their relations. The page lists the same relations, also without this script.
const SVG = "http://www.w3.org/2000/svg";
const NARROW = { below: 560, nodes: 9, height: 520, letters: 16 };
const WIDE = { below: Infinity, nodes: 20, height: 600, letters: 24 };
const TICKS = 300, ROUNDS = 400, GAP = [14, 20];
const NEAR = 90, FAR = 150, APART = -900;

/** Points by a force layout (d3-force): linked nodes attract each other, all others repel. Always the same result. */
function points(count, links, centre) {
  const nodes = Array.from({ length: count }, (_, index) => (index === centre ? { fx: 0, fy: 0 } : {}));
  const pulls = links.filter(([a, b]) => a !== b).map(([source, target, near = true]) => ({ source, target, near }));
  const link = d3.forceLink(pulls).distance(({ near }) => (near ? NEAR : FAR));
  const attract = link.strength();
  link.strength((pull, ...rest) => attract(pull, ...rest) * (pull.near ? 1 : 0.4));
  d3.forceSimulation(nodes)
    .force("link", link)
    .force("apart", d3.forceManyBody().strength(APART))
    .force("x", d3.forceX().strength(0.05))
    .force("y", d3.forceY().strength(0.09))
    .stop()
    .tick(TICKS);
  return nodes.map(({ x, y }) => [x, y]);
}

/** Moves overlapping boxes apart, along the axis where less is missing; whether any two overlapped. */
function separate(points, boxes, centre) {
  let moved = false;
  for (let i = 0; i < points.length; i++)
    for (let j = i + 1; j < points.length; j++) {
      const missing = [0, 1].map((axis) => (boxes[i][axis] + boxes[j][axis]) / 2 + GAP[axis] - Math.abs(points[j][axis] - points[i][axis]));
      if (missing[0] <= 0 || missing[1] <= 0) continue;
      const axis = missing[0] < missing[1] ? 0 : 1, away = points[j][axis] < points[i][axis] ? -1 : 1;
      const share = i === centre ? 0 : j === centre ? 1 : 0.5;
      points[i][axis] -= away * share * (missing[axis] + 1);
      points[j][axis] += away * (1 - share) * (missing[axis] + 1);
      moved = true;
    }
  return moved;
}

/** The centre of each box, given as [width, height]: inside the frame, without overlap, linked boxes near each other.
    The box with the number `centre`, if any, is in the middle. A link is two numbers, and whether it pulls strongly. */
export function layout(boxes, links, width, height, centre = -1) {
  const places = points(boxes.length, links, centre), frame = [width, height];
  const limit = (i, axis) => Math.max(0, (frame[axis] - boxes[i][axis] - 8) / 2);
  for (const axis of [0, 1]) {
    const values = places.map((place) => place[axis]);
    const middle = centre < 0 ? (Math.min(...values) + Math.max(...values)) / 2 : 0;
    const scale = (side) => Math.min(...values.map((value, i) => limit(i, axis) / Math.max(0.1, side * (value - middle))));
    const scales = centre < 0 ? Array(2).fill(Math.min(scale(1), scale(-1))) : [scale(1), scale(-1)];
    places.forEach((place) => (place[axis] = (place[axis] - middle) * scales[Number(place[axis] < middle)]));
  }
  for (let round = 0; round < ROUNDS && separate(places, boxes, centre); round++)
    places.forEach((place, i) => {
      for (const axis of [0, 1]) place[axis] = Math.max(-limit(i, axis), Math.min(limit(i, axis), place[axis]));
    });
  return places.map(([x, y]) => [width / 2 + x, height / 2 + y]);
}

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

const shorten = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("").trimEnd()}…` : text);

/** A link to the entity: a disc that grows with its mentions, and its name below. */
function node(entity, most, letters) {
  const grown = 7 + (11 * Math.log1p(entity.mentions)) / Math.max(1, Math.log1p(most)), radius = entity.middle ? Math.max(16, grown) : grown;
  const link = element("a", { class: "node", href: entity.href, "aria-label": entity.label });
  const name = element("text", { y: radius + 15 }, shorten(entity.name, letters));
  link.append(element("circle", { r: radius.toFixed(1), class: `kind-${entity.kind}` }), name, element("title", {}, entity.label));
  if (entity.chosen) link.setAttribute("aria-current", "true");
  return { link, name, radius };
}

/** How far from its centre a node ends in this direction: its disc, or its name. */
function rim({ radius, half }, x, y) {
  const through = y > 0 ? Math.min((radius + 18) / y, half / Math.abs(x)) : 0;
  return through * y > radius ? through : radius;
}

/** The ends of a relation's line, clear of both nodes; relations of the same pair run side by side. */
function ends(from, to, shift, arrow) {
  const dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy) || 1, x = dx / length, y = dy / length;
  const start = rim(from, x, y) + 3, end = rim(to, -x, -y) + (arrow ? 5 : 3), aside = from.index < to.index ? shift : -shift;
  return [from.x + x * start - y * aside, from.y + y * start + x * aside, to.x - x * end - y * aside, to.y - y * end + x * aside];
}

const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** Writes the label on its line where it touches nothing, or removes it; the list names every relation. */
function write(label, [x1, y1, x2, y2], taken, width, height) {
  const half = label.getComputedTextLength() / 2 + 3;
  for (const aside of [-3, 13, -13, 21, -22, 30, -30])
    for (const along of [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74]) {
      const x = x1 + along * (x2 - x1), y = y1 + along * (y2 - y1) + aside, box = [x - half, y - 12, x + half, y + 4];
      if (box[0] < 0 || box[1] < 0 || box[2] > width || box[3] > height || taken.some((other) => meet(box, other))) continue;
      label.setAttribute("x", x.toFixed(1));
      label.setAttribute("y", y.toFixed(1));
      return taken.push(box);
    }
  return label.remove();
}

function drawNodes(svg, entities, pairs, size, width) {
  const most = Math.max(...entities.map(({ mentions }) => mentions)), nodes = entities.map((entity) => node(entity, most, size.letters));
  svg.append(...nodes.map(({ link }) => link));
  nodes.forEach((item) => (item.half = item.name.getComputedTextLength() / 2 + 3));
  const boxes = nodes.map(({ half, radius }) => [2 * Math.max(radius, half), 2 * radius + 24]);
  const centre = entities.findIndex(({ middle }) => middle);
  layout(boxes, pairs, width, size.height, centre).forEach(([x, middle], index) => {
    const y = middle - 10;
    Object.assign(nodes[index], { x, y, index }).link.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
  });
  return nodes;
}

function drawRelation({ line, count }, at) {
  const [x1, y1, x2, y2] = at.map((value) => value.toFixed(1)), stated = line !== "shared";
  const thick = stated ? 2 : Math.min(4, 1 + 0.6 * Math.log1p(count)), kind = `relation ${line === "ended" ? "stated ended" : line}`;
  return element("line", { x1, y1, x2, y2, class: kind, "stroke-width": thick.toFixed(2), ...(stated && { "marker-end": "url(#arrow)" }) });
}

/** What the legend leaves in, and what has room: relations of the chosen sorts between entities of the chosen kinds. */
function filtered({ entities, relations }, off, most = Infinity) {
  const left = relations.filter(({ line, source, target }) => ![line, entities[source].kind, entities[target].kind].some((name) => off.has(name)));
  const linked = (some) => new Set(some.flatMap(({ source, target }) => [source, target]));
  const shown = (ends) => [...entities.keys()].filter((place) => ends.has(place) || entities[place].middle);
  const few = new Set(shown(linked(left)).slice(0, most)), inside = left.filter(({ source, target }) => few.has(source) && few.has(target));
  const places = shown(linked(inside)), moved = new Map(places.map((place, index) => [place, index]));
  return {
    entities: places.map((place) => entities[place]),
    relations: inside.map((relation) => ({ ...relation, source: moved.get(relation.source), target: moved.get(relation.target) })),
    left: linked(left).size - linked(inside).size,
    rows: relations.map((relation) => left.includes(relation)),
  };
}

function draw(figure, whole, off) {
  const svg = figure.querySelector("svg"), width = svg.clientWidth, size = [NARROW, WIDE].find(({ below }) => width < below);
  const { entities, relations, ...graph } = filtered(whole, off, size.nodes), left = whole.left_out + graph.left;
  const pairs = relations.map(({ source, target, line }) => [source, target, line !== "shared"]);
  const lines = element("g", { "aria-hidden": "true" }), labels = element("g", { class: "labels", "aria-hidden": "true" });
  svg.setAttribute("height", size.height);
  svg.querySelectorAll(":scope > :not(defs)").forEach((old) => old.remove());
  svg.append(lines, labels);
  const nodes = drawNodes(svg, entities, pairs, size, width);
  const taken = nodes.flatMap(({ x, y, radius, half }) => [
    [x - radius - 2, y - radius - 2, x + radius + 2, y + radius + 2],
    [x - half, y + radius, x + half, y + radius + 21],
  ]);
  relations.forEach((relation, place) => {
    const from = nodes[relation.source], to = nodes[relation.target];
    const same = [...pairs.keys()].filter((other) => [from, to].every(({ index }) => pairs[other].slice(0, 2).includes(index)));
    const at = ends(from, to, 8 * (same.indexOf(place) - (same.length - 1) / 2), relation.line !== "shared");
    const line = lines.appendChild(drawRelation(relation, at));
    if (relation.line !== "shared") write(labels.appendChild(element("text", {}, shorten(relation.name, size.letters))), at, taken, width, size.height);
    for (const { link } of [from, to])
      for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]])
        link.addEventListener(event, () => line.classList.toggle("near", on));
  });
  figure.querySelector("[data-left-out]").textContent = left ? `${left} more ${left === 1 ? "is" : "are"} not drawn; the list has them.` : "";
}

for (const figure of document.querySelectorAll("[data-graph]")) {
  const graph = JSON.parse(figure.dataset.graph), off = new Set();
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width !== width) draw(figure, graph, off);
    width = contentRect.width;
  }).observe(figure);
  figure.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-filter]"), name = button?.dataset.filter;
    if (!button) return;
    if (!off.delete(name)) off.add(name);
    button.setAttribute("aria-pressed", String(!off.has(name)));
    draw(figure, graph, off);
    const { rows } = filtered(graph, off);
    document.querySelectorAll("[data-picture] tbody tr").forEach((row, place) => (row.hidden = !rows[place]));
  });
}
