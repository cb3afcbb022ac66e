// SPDX-License-Identifier: Apache-2.0
//
// The page of mf-run --memory-html: a stage's numbers, its buffers by name, its layers.

const mostFound = 200, mostParts = 25;

class MemoryView {
  constructor(data) {
    this.data = data;
    this.map = new ArenaMap();
    this.search = document.getElementById("search");
    this.picker = document.getElementById("stage");
    this.picker.replaceChildren(...data.stages.map((stage, i) =>
      makeElement("option", {value: i}, `stage ${stage.stage}`)));
    this.picker.addEventListener("change", () => this.show(Number(this.picker.value)));
    this.search.addEventListener("input", () => this.fillBuffers());
    window.addEventListener("resize", () => this.map.draw());
    document.title = data.program + ": memory of a step";
    document.getElementById("title").textContent = data.program.split("/").pop();
    document.getElementById("subtitle").textContent =
      `memory of a step on ${data.stages.length} stage${data.stages.length === 1 ? "" : "s"}, as planned` +
      (data.target ? `, in the time of ${data.target}, simulated` : "");
    document.getElementById("axis").textContent = "Time runs to the right in " +
      (data.target ? "seconds, exact where tasks begin and end" : "instructions of the compute stream") + ", addresses upwards.";
    const arenas = data.stages.map(stage => stage.arena_bytes);
    const fullest = arenas.indexOf(Math.max(...arenas));
    this.picker.value = String(fullest);
    this.show(fullest);
  }

  show(number) {
    this.stage = decodeStage(this.data, this.data.stages[number]);
    this.fillNumbers();
    this.map.setStage(this.stage);
    const used = new Set(this.stage.names.filter(name => !name.onHost).map(name => name.category));
    fillLegend("arena-legend", this.data.categories.filter(name => used.has(name)).map(name =>
      ({name: name.replace("_", " "), style: "background: " + getCategoryColor(name)})));
    const {buffers, left_out: leftOut} = this.stage;
    document.getElementById("left-out").textContent = leftOut === 0 ? `The map has all ${formatCount(buffers.length)} buffers.` :
      `The map has the ${formatCount(buffers.length)} buffers that take most memory for longest; ` +
      `${formatCount(leftOut)} smaller or shorter ones are left out, but are found by name.`;
    this.fillAlive();
    this.fillLayers();
    this.fillBuffers();
  }

  // What is alive at the peak; layers have one row where they hold the same.
  fillAlive() {
    const parts = new Map();
    for (const {name, instances, bytes} of this.stage.alive) {
      const key = name.name.replace(/\.\d+(?=[.'])/g, ".*");
      const part = parts.get(key + name.category) || {key, category: name.category, instances: 0, bytes: 0};
      part.instances += instances;
      part.bytes += bytes;
      parts.set(key + name.category, part);
    }
    const all = [...parts.values()].sort((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : 1));
    const task = this.stage.calls.filter(call => call.begin <= this.stage.peak).at(-1);
    document.getElementById("peak").textContent = `${formatBytes(this.stage.live_bytes)} are alive at the peak` +
      (task ? `, in ${this.stage.routines[task.routine]}` + (task.microBatch < 0 ? "" : ` of micro-batch ${task.microBatch}`) : "") + ".";
    const cells = (name, ...others) => makeElement("tr", {}, makeElement("td", {}, ...name),
      ...others.map(text => makeElement("td", {}, text)));
    const share = bytes => formatShare(bytes / Math.max(1, this.stage.live_bytes));
    const rows = all.slice(0, mostParts).map(({key, category, instances, bytes}) => cells(
      [makeElement("i", {class: "swatch", style: "background: " + getCategoryColor(category)}), key],
      category.replace("_", " "), formatCount(instances), formatBytes(bytes), share(bytes)));
    const sum = (member, of) => of.reduce((total, part) => total + part[member], 0);
    const rest = all.slice(mostParts);
    if (rest.length > 0)
      rows.push(cells([`${formatCount(rest.length)} smaller ones`], "", formatCount(sum("instances", rest)),
        formatBytes(sum("bytes", rest)), share(sum("bytes", rest))));
    const header = makeElement("tr", {}, ...["part", "kind", "buffers", "bytes", "of the peak"].map(name =>
      makeElement("th", {scope: "col"}, name)));
    document.getElementById("alive").replaceChildren(makeElement("thead", {}, header),
      makeElement("tbody", {}, ...rows));
    nameCells("alive");
  }

  fillNumbers() {
    const {stage} = this;
    const numbers = [["arena", stage.arena_bytes], ["most alive at once", stage.live_bytes],
      ["limit", stage.limit_bytes], ["host memory", stage.host_bytes]];
    document.getElementById("numbers").replaceChildren(...numbers.filter(([, bytes]) => bytes > 0)
      .map(([name, bytes]) => {
        const [number, unit] = formatBytes(bytes).split(" ");
        return makeElement("div", {}, makeElement("dt", {}, name),
          makeElement("dd", {}, number + " ", makeElement("small", {}, unit)));
      }));
  }

  // Names with all the words, the largest first.
  fillBuffers() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.stage.names.filter(({name, category}) =>
      words.every(word => name.toLowerCase().includes(word) || category.startsWith(word)))
      .sort((a, b) => b.bytes - a.bytes || a.number - b.number);
    document.getElementById("found").textContent = `${formatCount(found.length)} names` +
      (found.length > mostFound ? `, the largest ${mostFound} are listed` : "");
    const header = makeElement("tr", {}, ...["buffer", "kind", "bytes", "times in a step"].map(name =>
      makeElement("th", {scope: "col"}, name)));
    document.getElementById("buffers").replaceChildren(makeElement("thead", {}, header),
      makeElement("tbody", {}, ...found.slice(0, mostFound).map(name => this.makeRow(name))));
    nameCells("buffers");
  }

  makeRow(name) {
    const button = makeElement("button", {"aria-pressed": "false", title: "Show it on the map"},
      makeElement("i", {class: "swatch", style: "background: " + getCategoryColor(name.category)}), name.name);
    button.addEventListener("click", () => {
      const isOn = button.getAttribute("aria-pressed") === "true";
      for (const other of document.querySelectorAll("#buffers button"))
        other.setAttribute("aria-pressed", String(other === button && !isOn));
      this.map.select(isOn ? null : name);
      document.getElementById("found").textContent = isOn || this.map.has(name) ? name.name :
        `${name.name} is not on the map`;
    });
    return makeElement("tr", {}, makeElement("td", {}, button),
      makeElement("td", {}, name.category.replace("_", " ") + (name.onHost ? ", host" : "")),
      makeElement("td", {}, formatBytes(name.bytes)), makeElement("td", {}, formatCount(name.instances)));
  }

  // Layers by what the names of residuals say.
  fillLayers() {
    const layers = new Map();
    for (const name of this.stage.names) {
      if (name.kept + name.repeated === 0) continue;
      const [, layer] = /\b(layers?\.\d+|[a-z_]+\.layers\.\d+)\b/.exec(name.name) || [null, "others"];
      const sums = layers.get(layer) || {kept: 0, swapped: 0, repeated: 0};
      sums[name.onHost ? "swapped" : "kept"] += name.kept;
      sums.repeated += name.repeated;
      layers.set(layer, sums);
    }
    const most = Math.max(1, ...[...layers.values()].map(sums => sums.kept + sums.swapped + sums.repeated));
    const getNumber = layer => Number((/\d+/.exec(layer) || [1e9])[0]);
    const bar = ({kept, swapped, repeated}) => makeElement("td", {class: "bar", "aria-hidden": "true"},
      makeElement("div", {style: "background: var(--panel)"},
        makeElement("span", {style: `width: ${100 * kept / most}%; background: ${getCategoryColor("activation")}`}),
        makeElement("span", {style: `width: ${100 * swapped / most}%; background: var(--copy)`}),
        makeElement("span", {style: `width: ${100 * repeated / most}%; background: ${getCategoryColor("temporary")}`})));
    const rows = [...layers].sort((a, b) => getNumber(a[0]) - getNumber(b[0])).map(([layer, sums]) => {
      const button = makeElement("button", {}, layer);
      button.addEventListener("click", () => {
        this.search.value = layer === "others" ? "residual" : layer + ".";
        this.fillBuffers();
        this.search.focus();
      });
      return makeElement("tr", {}, makeElement("th", {scope: "row"}, button), bar(sums),
        ...[sums.kept, sums.swapped].map(bytes => makeElement("td", {}, bytes ? formatBytes(bytes) : "–")),
        makeElement("td", {}, sums.repeated ? formatBytes(sums.repeated) : "–"));
    });
    const header = makeElement("tr", {}, ...["layer", "", "kept on the device", "swapped to the host", "computed again"]
      .map(name => makeElement(name ? "th" : "td", name ? {scope: "col"} : {}, name)));
    document.getElementById("layers").replaceChildren(makeElement("thead", {}, header),
      makeElement("tbody", {}, ...rows));
    nameCells("layers");
    fillLegend("layers-legend", [
      {name: "kept on the device", style: "background: " + getCategoryColor("activation")},
      {name: "swapped to the host", style: "background: var(--copy)"},
      {name: "computed again", style: "background: " + getCategoryColor("temporary")}]);
  }
}

window.addEventListener("error", event => {
  document.documentElement.dataset.error = event.message;
});
new MemoryView(JSON.parse(document.getElementById("data").textContent));
