// SPDX-License-Identifier: Apache-2.0
//
// The layers of each stage as a grid, coloured by treatment.

// Recomputing fewer operators is paler.
function getTreatmentStyle(name) {
  if (name === "none") return {color: "var(--keep)", letter: "K", words: "kept", layers: "kept"};
  if (name === "full") return {color: "var(--full)", letter: "F", words: "full recompute",
    layers: "recomputed in full"};
  if (name.startsWith("swap")) return {color: "var(--swap)", letter: "S", words: name, layers: "swapped"};
  const number = Number(name.split(" ")[1]) || 1;
  return {color: `hsl(212 ${38 + 6 * number}% ${52 - 6 * number}%)`, letter: String(number),
    words: name.replace("select", "recompute selection"),
    layers: "with " + name.replace("select", "recompute selection")};
}

function describeLayer(data, chunk, layer, number) {
  const kind = data.kinds[layer.kind], cost = kind.treatments[layer.treatment];
  const style = getTreatmentStyle(cost.name);
  const kept = data.kinds[layer.kind].treatments.find(other => other.name === "none");
  const parts = [`keeps ${formatBytes(cost.kept_bytes)} of each micro-batch`,
    `forward ${formatSeconds(cost.forward_seconds)}, backward ${formatSeconds(cost.backward_seconds)}`];
  if (kept && kept !== cost)
    parts.push(`saves ${formatBytes(kept.kept_bytes - cost.kept_bytes)} for ` +
      `${formatSeconds(Math.max(0, cost.forward_seconds + cost.backward_seconds -
        kept.forward_seconds - kept.backward_seconds))} more`);
  parts.push(`parameters and state ${formatBytes(kind.parameter_bytes)}`);
  return {title: `layer ${number} on stage ${chunk.stage}` +
    (data.kinds.length > 1 ? ` of ${kind.name}` : "") + `: ${style.words}`, lines: parts};
}

class LayerGrid {
  constructor(data) {
    this.data = data;
    this.rows = [];
    let number = 0;
    const chunks = data.chunks.map((chunk, index) => ({...chunk, index,
      layers: chunk.layers.map(layer => ({...layer, number: number++}))}));
    const several = chunks.length > new Set(chunks.map(chunk => chunk.stage)).size;
    const bands = [...chunks].sort((a, b) => a.stage - b.stage || a.index - b.index);
    const root = document.getElementById("grid");
    root.replaceChildren(...bands.map(chunk => this.makeBand(chunk, several)));
    root.addEventListener("keydown", event => this.onKey(event));
    this.rows[0][0].tabIndex = 0;
  }

  makeBand(chunk, several) {
    const name = `stage ${chunk.stage}` + (several ? `, chunk ${chunk.index}` : "");
    const cells = chunk.layers.map(layer => this.makeCell(chunk, layer));
    this.rows.push(cells);
    return makeElement("div", {role: "row", class: "band"},
      makeElement("div", {role: "rowheader"}, name),
      makeElement("div", {role: "presentation"}, ...cells));
  }

  makeCell(chunk, layer) {
    const {title, lines} = describeLayer(this.data, chunk, layer, layer.number);
    const style = getTreatmentStyle(this.data.treatments[layer.treatment]);
    const cell = makeElement("div", {role: "gridcell", tabindex: -1,
      "aria-label": [title, ...lines].join("; "), style: "background: " + style.color}, style.letter);
    const show = () => document.getElementById("layer").replaceChildren(
      makeElement("b", {}, title), ...lines.flatMap(line => [" · ", line]));
    if (this.rows.length === 0 && layer === chunk.layers[0]) show();
    cell.addEventListener("pointerenter", show);
    cell.addEventListener("focus", () => {
      this.rows.flat().forEach(other => { other.tabIndex = other === cell ? 0 : -1; });
      show();
    });
    return cell;
  }

  onKey(event) {
    const row = this.rows.findIndex(cells => cells.includes(event.target));
    if (row < 0) return;
    const column = this.rows[row].indexOf(event.target);
    const places = {
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column], Home: [row, 0], End: [row, this.rows[row].length - 1],
    };
    const place = places[event.key];
    if (!place) return;
    event.preventDefault();
    const cells = this.rows[place[0]];
    if (cells) cells[Math.max(0, Math.min(place[1], cells.length - 1))].focus();
  }
}

function fillLayers(data) {
  const note = document.getElementById("layers-note");
  if (data.chunks.length === 0) {
    note.textContent = "The given settings stay; recompute_config and swap_config of the YAML say " +
      "how layers are treated.";
    document.getElementById("layer").hidden = true;
    document.getElementById("grid").hidden = true;
    return;
  }
  note.textContent = "Point at a layer, or move to it with the arrow keys, to see what it keeps and takes.";
  const used = new Set(data.chunks.flatMap(chunk => chunk.layers.map(layer => layer.treatment)));
  fillLegend("layers-legend", data.treatments.map((name, i) => [getTreatmentStyle(name), i])
    .filter(([, i]) => used.has(i)).map(([style]) =>
      ({name: `${style.letter} ${style.words}`, style: "background: " + style.color})));
  new LayerGrid(data);
}
