// Draws the entities in `data-graph` and their relations. The page lists the same relations, also without this script.
const SVG = "http://www.w3.org/2000/svg";
const NARROW = { below: 560, nodes: 9, height: 520, letters: 16 };
const WIDE = { below: Infinity, nodes: 20, height: 600, letters: 24 };
const STEPS = 300, ROUNDS = 400, GAP = [14, 20];

/** How far apart any two nodes should be, by the steps between them: less than in proportion, so that all have room. */
function distances(count, links) {
  const steps = Array.from({ length: count }, (_, i) => Array.from({ length: count }, (_, j) => (i === j ? 0 : Infinity)));
  for (const [a, b] of links) if (a !== b) steps[a][b] = steps[b][a] = 1;
  for (let k = 0; k < count; k++)
    for (const row of steps) for (let j = 0; j < count; j++) row[j] = Math.min(row[j], row[k] + steps[k][j]);
  const longest = Math.max(1, ...steps.flat().filter(Number.isFinite));
  return steps.map((row) => row.map((value) => Math.min(value, longest + 1) ** 0.75));
}

/** Points whose distances come close to these: stress majorization from a circle, so always the same result. */
function stress(ideal) {
  const points = ideal.map((_, i) => [0, -Math.PI / 2].map((turn) => Math.cos((2 * Math.PI * i) / ideal.length + turn)));
  for (let step = 0; step < STEPS; step++)
    ideal.forEach((row, i) => {
      let x = 0, y = 0, total = 0;
      row.forEach((distance, j) => {
        if (j === i) return;
        const dx = points[i][0] - points[j][0], dy = points[i][1] - points[j][1];
        const weight = distance ** -2, pull = distance / (Math.hypot(dx, dy) || 1e-6);
        x += weight * (points[j][0] + dx * pull);
        y += weight * (points[j][1] + dy * pull);
        total += weight;
      });
      if (total) points[i] = [x / total, y / total];
    });
  return points;
}

/** Moves overlapping boxes apart, along the axis where less is missing; whether any two overlapped. */
function separate(points, boxes) {
  let moved = false;
  for (let i = 0; i < points.length; i++)
    for (let j = i + 1; j < points.length; j++) {
      const missing = [0, 1].map((axis) => (boxes[i][axis] + boxes[j][axis]) / 2 + GAP[axis] - Math.abs(points[j][axis] - points[i][axis]));
      if (missing[0] <= 0 || missing[1] <= 0) continue;
      const axis = missing[0] < missing[1] ? 0 : 1, away = points[j][axis] < points[i][axis] ? -1 : 1;
      points[i][axis] -= away * (missing[axis] / 2 + 0.5);
      points[j][axis] += away * (missing[axis] / 2 + 0.5);
      moved = true;
    }
  return moved;
}

/** The centre of each box, given as [width, height]: inside the frame, without overlap, linked boxes near each other. */
export function layout(boxes, links, width, height) {
  const points = stress(distances(boxes.length, links)), frame = [width, height];
  const limit = (i, axis) => Math.max(0, (frame[axis] - boxes[i][axis] - 8) / 2);
  for (const axis of [0, 1]) {
    const values = points.map((point) => point[axis]), middle = (Math.min(...values) + Math.max(...values)) / 2;
    const scale = Math.min(...values.map((value, i) => limit(i, axis) / Math.max(0.1, Math.abs(value - middle))));
    points.forEach((point) => (point[axis] = (point[axis] - middle) * scale));
  }
  for (let round = 0; round < ROUNDS && separate(points, boxes); round++)
    points.forEach((point, i) => {
      for (const axis of [0, 1]) point[axis] = Math.max(-limit(i, axis), Math.min(limit(i, axis), point[axis]));
    });
  return points.map(([x, y]) => [width / 2 + x, height / 2 + y]);
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
  const radius = 7 + (11 * Math.log1p(entity.mentions)) / Math.max(1, Math.log1p(most));
  const link = element("a", { class: "node", href: entity.href, "aria-label": entity.label });
  const name = element("text", { y: radius + 15 }, shorten(entity.name, letters));
  link.append(element("circle", { r: radius.toFixed(1) }), name, element("title", {}, entity.label));
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
  layout(boxes, pairs, width, size.height).forEach(([x, middle], index) => {
    const y = middle - 10;
    Object.assign(nodes[index], { x, y, index }).link.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
  });
  return nodes;
}

function drawRelation({ stated, ended, count }, at) {
  const [x1, y1, x2, y2] = at.map((value) => value.toFixed(1)), thick = stated ? 2 : Math.min(4, 1 + 0.6 * Math.log1p(count));
  const kind = `relation ${stated ? "stated" : "shared"}${ended ? " ended" : ""}`;
  return element("line", { x1, y1, x2, y2, class: kind, "stroke-width": thick.toFixed(2), ...(stated && { "marker-end": "url(#arrow)" }) });
}

function draw(figure, graph) {
  const svg = figure.querySelector("svg"), width = svg.clientWidth, size = [NARROW, WIDE].find(({ below }) => width < below);
  const entities = graph.entities.slice(0, size.nodes), left = graph.left_out + graph.entities.length - entities.length;
  const relations = graph.relations.filter(({ source, target }) => Math.max(source, target) < entities.length);
  const pairs = relations.map(({ source, target }) => [source, target]);
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
    const same = [...pairs.keys()].filter((other) => pairs[other].includes(from.index) && pairs[other].includes(to.index));
    const at = ends(from, to, 8 * (same.indexOf(place) - (same.length - 1) / 2), relation.stated);
    const line = lines.appendChild(drawRelation(relation, at));
    if (relation.stated) write(labels.appendChild(element("text", {}, shorten(relation.name, size.letters))), at, taken, width, size.height);
    for (const { link } of [from, to])
      for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]])
        link.addEventListener(event, () => line.classList.toggle("near", on));
  });
  figure.querySelector("[data-left-out]").textContent = left ? `${left} more ${left === 1 ? "is" : "are"} not drawn; the list below has them.` : "";
}

for (const figure of document.querySelectorAll("[data-graph]")) {
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width !== width) draw(figure, JSON.parse(figure.dataset.graph));
    width = contentRect.width;
  }).observe(figure);
}
