// Rules of the page, computed from what the browser has drawn. What breaks one is told to the page
// around this one, where the test reads it.
"use strict";

const broken = [];
const say = (what, where) => broken.push(`${what}: ${where}`.slice(0, 240));
const shown = (element) => element.getClientRects().length > 0;
const counted = { figures: 0, texts: 0, tables: 0, axes: 0, tooltips: 0 };

// Contrast as WCAG 2.2 has it.
const channels = (colour) => (colour.match(/[\d.]+/g) || [0, 0, 0]).map(Number);
const luminance = (colour) => {
  const [red, green, blue] = channels(colour).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const paper = getComputedStyle(document.body).backgroundColor;
const over = (colour, share) => {
  const [own, below] = [channels(colour), channels(paper)];
  return `rgb(${own.slice(0, 3).map((part, at) => part * share + below[at] * (1 - share)).join(",")})`;
};

// Nothing is wider than the window but what scrolls in its own box.
if (document.documentElement.scrollWidth > window.innerWidth) {
  say("the page is wider than the window", document.documentElement.scrollWidth);
}

// Every text can be read: at least 11 px, and it stands out.
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !shown(element)) continue;
  if (element.closest("script, style, title, desc")) continue;
  counted.texts += 1;
  const style = getComputedStyle(element);
  const scale = element.getScreenCTM ? element.getScreenCTM().a : 1;
  const size = parseFloat(style.fontSize) * scale;
  if (size < 11) say(`text of ${size.toFixed(1)} px`, element.textContent);
  const cell = element.previousElementSibling;
  let behind = paper;
  if (cell && cell.classList.contains("cell")) {
    behind = over(getComputedStyle(cell).fill, Number(cell.getAttribute("fill-opacity")));
  } else if (element.closest(".impossible")) {
    behind = getComputedStyle(element.closest(".impossible")).backgroundColor;
  }
  const ratio = contrast(element.closest("svg") ? style.fill : style.color, behind);
  if (ratio < 4.5) say(`contrast of ${ratio.toFixed(1)}`, element.textContent);
}

// Figures: texts neither overlap nor are cut off; axes have three ticks or more; a screen reader has words.
for (const svg of document.querySelectorAll("svg")) {
  if (!shown(svg)) continue;
  counted.figures += 1;
  const name = svg.getAttribute("aria-label") || "";
  const described = document.getElementById(svg.getAttribute("aria-describedby"));
  if (svg.getAttribute("role") !== "img" || !name) say("a figure without role or label", svg.outerHTML.slice(0, 100));
  if (!described || described.textContent.length < 20) say("a figure without a description", name);
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
  for (const [text, box] of boxes) {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
      say("a text is cut off", `${name}: ${text.textContent}`);
    }
  }
  boxes.forEach(([text, a], at) => boxes.slice(0, at).forEach(([other, b]) => {
    const [across, down] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
    // Boxes of lines are higher than their letters.
    if (across > 1 && down > 4) say("texts overlap", `${name}: ${text.textContent} and ${other.textContent}`);
  }));
  for (const axis of ["tick-x", "tick-y"]) {
    const ticks = svg.querySelectorAll(`.${axis}`).length;
    if (ticks === 0) continue;
    counted.axes += 1;
    if (ticks < 3) say(`${ticks} ticks`, `${name}, ${axis}`);
  }
  const tips = [...svg.querySelectorAll(":scope * > title")].map((tip) => tip.textContent);
  counted.tooltips += tips.length;
  if (tips.length === 0) say("a figure without tooltips", name);
  // Series of points differ by shape, not by colour alone.
  const shapes = new Map();
  for (const mark of svg.querySelectorAll("path.mark")) {
    const shape = mark.getAttribute("d").replace(/^M[\d.-]+ [\d.-]+/, "");
    const colour = [...mark.classList].find((word) => word !== "mark");
    if ((shapes.get(shape) || colour) !== colour) say("two series with one shape", name);
    shapes.set(shape, colour);
  }
}

// Tables: heads of columns, a name, and a box of their own that a keyboard scrolls.
for (const table of document.querySelectorAll("table")) {
  counted.tables += 1;
  const box = table.parentElement;
  if (!table.getAttribute("aria-label") || box.tabIndex !== 0) say("a table without name or box", table.textContent.slice(0, 60));
  if ([...table.querySelectorAll("th")].some((head) => head.scope !== "col")) say("a head without its scope", table.textContent.slice(0, 60));
}

// Names are given once.
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
if (new Set(ids).size !== ids.length) say("an id is given twice", ids.find((id, at) => ids.indexOf(id) !== at));

parent.postMessage(JSON.stringify({
  width: window.innerWidth,
  is_dark: matchMedia("(prefers-color-scheme: dark)").matches,
  broken,
  ...counted,
}), "*");
