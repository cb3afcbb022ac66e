// SPDX-License-Identifier: Apache-2.0
//
// The changes of a text, as `diff -u` writes them.

// Lengths of the longest common subsequences of what is behind two places.
function measureCommon(before, after) {
  const table = Array.from({length: before.length + 1}, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; --i)
    for (let j = after.length - 1; j >= 0; --j)
      table[i][j] = before[i] === after[j] ? table[i + 1][j + 1] + 1 :
        Math.max(table[i + 1][j], table[i][j + 1]);
  return table;
}

// [mark, line] for each line of either text: " ", "-" or "+".
function compareLines(before, after) {
  const table = measureCommon(before, after), lines = [];
  let i = 0, j = 0;
  while (i < before.length || j < after.length)
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push([" ", before[i++]]);
      ++j;
    } else if (i < before.length && (j === after.length || table[i + 1][j] >= table[i][j + 1]))
      lines.push(["-", before[i++]]);
    else lines.push(["+", after[j++]]);
  return lines;
}

// A line end that is missing at the end of a text is a part of its last line.
function splitLines(text) {
  const lines = text.split("\n");
  const last = lines.pop();
  if (last) lines.push(last + "\n\\ No newline at end of file");
  return lines;
}

const diffContext = 3;

// [mark, line] of the changes with the lines around them, and of the places ("@").
function makeDiff(given, planned) {
  const lines = compareLines(splitLines(given), splitLines(planned));
  const isShown = lines.map(() => false);
  lines.forEach(([mark], i) => {
    if (mark !== " ") isShown.fill(true, Math.max(0, i - diffContext), i + diffContext + 1);
  });
  const result = [];
  let before = 1, after = 1;
  for (let i = 0; i < lines.length; ++i) {
    if (isShown[i] && !isShown[i - 1]) {
      const end = isShown.indexOf(false, i);
      const hunk = lines.slice(i, end < 0 ? lines.length : end);
      const count = mark => hunk.filter(line => line[0] !== mark).length;
      result.push(["@", `@ -${before},${count("+")} +${after},${count("-")} @@`]);
    }
    if (isShown[i]) result.push(lines[i]);
    if (lines[i][0] !== "+") ++before;
    if (lines[i][0] !== "-") ++after;
  }
  return result;
}

function printDiff(name, lines) {
  return `--- ${name}\n+++ ${name}\n` + lines.map(line => line.join("") + "\n").join("");
}

// Where there is no clipboard, or it is not allowed, the old way.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = makeElement("textarea", {style: "position: fixed; opacity: 0"});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function fillDiff(data) {
  const [given, planned] = data.yaml;
  const lines = makeDiff(given, planned);
  const classes = {"+": "added", "-": "removed", "@": "place"};
  document.getElementById("diff").replaceChildren(...lines.map(([mark, text]) =>
    makeElement("span", {class: classes[mark] || ""}, mark + text + "\n")));
  if (lines.length === 0) document.getElementById("diff").textContent = "  nothing changes";
  const onClick = (id, text, what) => {
    const button = document.getElementById(id);
    button.disabled = lines.length === 0 && id === "copy";
    button.addEventListener("click", async () => {
      document.getElementById("copied").textContent =
        await copyText(text) ? what + " copied" : "the browser does not allow copying";
    });
  };
  onClick("copy", printDiff(data.source, lines), "changes");
  onClick("copy-all", planned, "YAML");
}
