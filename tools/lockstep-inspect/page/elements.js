//===- elements.js - text and elements of the page ------------------------===//

"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);

//===-- Text ------------------------------------------------------------===//

function bytes(n) {
  if (n < 1024) return n + " B";
  for (const unit of ["KiB", "MiB", "GiB", "TiB"]) {
    n /= 1024;
    if (n < 1023.5) return n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0) + " " + unit;
  }
}
function count(n) {
  if (n < 1000) return "" + n;
  for (const unit of ["k", "M", "G", "T"]) {
    n /= 1000;
    if (n < 999.5) return n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0) + " " + unit;
  }
}
const live = range => range === null ? "nothing" : range.first === range.last ? "" + range.first : range.first + " to " + range.last;

//===-- Elements --------------------------------------------------------===//

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function shape(name, attributes, hint, pick) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (hint) {
    node.addEventListener("mousemove", event => {
      const box = byId("hint");
      box.textContent = hint;
      box.style.left = Math.min(event.clientX + 14, innerWidth - 480) + "px";
      box.style.top = event.clientY + 16 + "px";
      box.style.visibility = "visible";
    });
    node.addEventListener("mouseleave", () => byId("hint").style.visibility = "hidden");
  }
  if (pick) {
    node.classList.add("hit");
    node.addEventListener("click", pick);
  }
  return node;
}
function label(x, y, text, anchor = "start") {
  const node = shape("text", {x, y, "text-anchor": anchor});
  node.textContent = text;
  return node;
}
const cellContent = value => value instanceof Node ? [value] : ["" + (value ?? "")];
/// Columns: [heading, cell of a row, classes]. `classOf` gives the class of a row.
function table(columns, rows, classOf = () => "") {
  const head = element("tr", {}, ...columns.map(([name, , kind = ""]) => element("th", {class: kind}, name)));
  const body = rows.map((row, i) => element("tr", {class: classOf(row), "data-row": i},
    ...columns.map(([, cell, kind = ""]) => element("td", {class: kind}, ...cellContent(cell(row))))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}
const tile = (value, name) => element("div", {class: "tile"}, element("b", {}, value), element("span", {}, name));
const legend = (entries, ...more) => element("div", {class: "legend"}, ...entries.map(([color, name]) => {
  const mark = element("i");
  mark.style.background = color;
  return element("span", {}, mark, name);
}), ...more);
function titled(title, note, ...content) {
  return [element("h2", {}, title), ...(note ? [element("div", {class: "soft"}, note)] : []), ...content];
}

