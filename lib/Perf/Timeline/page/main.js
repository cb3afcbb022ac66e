// SPDX-License-Identifier: Apache-2.0
//
// Puts the page together. What was drawn is said in data attributes of the root element, for tests.

function fillTimelineLegend(step) {
  const phases = new Set(step.stages.flatMap(stage => stage.tasks.map(task => task.phase)));
  const entries = Object.keys(phaseNames).filter(phase => phases.has(phase)).map(phase => ({
    name: phaseNames[phase],
    style: "background: " + getTaskColor(readPalette(), {phase, microBatch: 1}, []),
  }));
  const has = cause => step.stages.some(stage => stage.gaps.some(gap => gap.cause === cause));
  entries.push({name: "other work", style: "background: var(--work)"});
  if (has(0)) entries.push({name: gapCauses[0].name, style: "background: var(--communication)"});
  if (has(1)) entries.push({name: gapCauses[1].name, style: "background: var(--copy)"});
  entries.push({name: gapCauses[2].name, mark: "hatch"});
  fillLegend("timeline-legend", entries);
}

function describeJoining(step) {
  if (step.resolution === 0) return "";
  const blocks = step.stages.flatMap(stage => stage.streams).reduce(
    (sum, stream) => sum + stream.blocks.count, 0);
  return `Streams show ${formatCount(blocks)} blocks of ${formatCount(step.spans)} spans: ` +
    `short ones that follow one another within ${formatSeconds(step.resolution)} are joined.`;
}

function start() {
  const step = decodeStep(JSON.parse(document.getElementById("data").textContent));
  fillHeader(step);
  fillNumbers(step);
  fillLimits(step);
  fillTable(step);
  document.getElementById("joined").textContent = describeJoining(step);
  const timeline = new Timeline(step);
  const plots = makeMemoryPlots(step);
  const redraw = () => {
    fillTimelineLegend(step);
    timeline.draw();
    for (const plot of plots) plot.draw();
  };
  redraw();
  new ResizeObserver(redraw).observe(document.body);
  for (const query of ["(prefers-color-scheme: dark)", "print"])
    matchMedia(query).addEventListener("change", redraw);
  window.addEventListener("beforeprint", redraw);
  window.addEventListener("afterprint", redraw);
  Object.assign(document.documentElement.dataset, {
    stages: step.stages.length,
    tasks: step.stages.reduce((sum, stage) => sum + stage.tasks.length, 0),
    blocks: step.stages.flatMap(stage => stage.streams).reduce((sum, s) => sum + s.blocks.count, 0),
    spans: step.spans,
    stepSeconds: step.seconds,
  });
}

window.addEventListener("error", event => {
  document.documentElement.dataset.error = event.message;
});
start();
