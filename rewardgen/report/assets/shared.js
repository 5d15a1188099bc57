"use strict";
// What the pages share: elements made of text nodes, code, charts that follow the width, the theme.
// Nothing here reads data as markup: there is no innerHTML.
const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (selector, root = document) => root.querySelector(selector);

  function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((each) => each != null && each !== false && each !== ""));
    return node;
  }

  const unpacked = new Map();
  function unpack(name) {
    if (!unpacked.has(name)) unpacked.set(name, inflate(data.blocks[name]));
    return unpacked.get(name);
  }
  async function inflate(text) {
    if (!text) return null;
    const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  const TOKENS =
    /(#.*)|("""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(def|return|if|else|elif|for|in|and|or|not|lambda|None|True|False|is)\b|\b(\d[\d_.]*(?:[eE][-+]?\d+)?)\b|(\w+)(?=\()/g;
  const CLASSES = ["c", "s", "k", "n", "f"];
  function code(source) {
    const pieces = [];
    let at = 0;
    for (const found of source.matchAll(TOKENS)) {
      if (found.index > at) pieces.push(["", source.slice(at, found.index)]);
      pieces.push([CLASSES[found.slice(1).findIndex((each) => each !== undefined)], found[0]]);
      at = found.index + found[0].length;
    }
    pieces.push(["", source.slice(at)]);
    const lines = [el("span", { class: "l", "data-n": 1 })];
    for (const [kind, text] of pieces)
      text.split("\n").forEach((part, index) => {
        if (index) {
          lines.at(-1).append("\n");
          lines.push(el("span", { class: "l", "data-n": lines.length + 1 }));
        }
        if (part) lines.at(-1).append(kind ? el("span", { class: kind }, part) : part);
      });
    return el("pre", { class: "code", tabindex: 0, "aria-label": "Code of the reward" }, lines);
  }
  function diff(text, label) {
    const kinds = { "+": "l add", "-": "l del", "@": "l at" };
    const lines = text.split("\n").map((line, index) => el("span", { class: index < 2 ? "l at" : kinds[line[0]] || "l" }, line + "\n"));
    return el("pre", { class: "diff", tabindex: 0, "aria-label": label }, lines);
  }

  // Charts. `make` is given a width and returns options of Plot; it is asked again when the width changes.
  const charts = new Map();
  function draw(place, make) {
    const width = Math.floor(place.clientWidth);
    if (!width) return;
    const [options, onclick] = make(width);
    const svg = Plot.plot({ width, style: { background: "none", fontFamily: "inherit", fontSize: "12px" }, ...options });
    // One picture with one description: what Plot calls its parts is no name of anything to a reader.
    svg.setAttribute("role", "img");
    for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    if (onclick) {
      svg.style.cursor = "pointer";
      svg.addEventListener("click", () => svg.value && onclick(svg.value));
    }
    $("svg", place)?.remove();
    place.append(svg);
  }
  const resized = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const [make, width] = charts.get(target) || [];
      if (!target.isConnected) resized.unobserve(target), charts.delete(target);
      else if (make && Math.abs(width - contentRect.width) > 1) {
        charts.set(target, [make, contentRect.width]);
        draw(target, make);
      }
    }
  });
  function chart(place, make) {
    charts.set(place, [make, -1]);
    resized.observe(place);
    return place;
  }
  const titled = (title, make) => chart(el("figure", { class: "chart" }, el("figcaption", {}, title)), make);

  const button = document.getElementById("theme");
  const root = document.documentElement;
  function theme(name) {
    if (name === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", name);
    button.textContent = `Theme: ${name}`;
  }
  function kept(value) {
    try {
      if (value) localStorage.setItem("rewardgen-theme", value);
      return localStorage.getItem("rewardgen-theme");
    } catch {
      return null;
    }
  }
  const THEMES = ["auto", "light", "dark"];
  let current = Math.max(0, THEMES.indexOf(kept()));
  button.hidden = false;
  theme(THEMES[current]);
  button.addEventListener("click", () => {
    current = (current + 1) % 3;
    theme(THEMES[current]);
    kept(THEMES[current]);
  });

  for (const each of document.querySelectorAll("pre[data-language=python]")) {
    const copy = document.querySelector(`[data-copy="${each.id}"]`);
    const source = each.textContent;
    const shown = code(source);
    shown.id = each.id;
    each.replaceWith(shown);
    if (copy && navigator.clipboard) {
      copy.hidden = false;
      copy.addEventListener("click", () => navigator.clipboard.writeText(source).then(() => (copy.textContent = "Copied")));
    }
  }

  const number = (value) => (value == null ? "" : Number(value.toPrecision(3)).toString().replace("-", "−"));
  const thousands = (steps) => (steps >= 1e6 ? `${+(steps / 1e6).toFixed(1)}M` : steps >= 1000 ? `${+(steps / 1000).toFixed(1)}k` : `${steps}`);
  const COLOURS = { chosen: "var(--accent)", human: "var(--human)", sparse: "var(--sparse)", "best so far": "var(--accent)" };
  const colour = (id, chosen) => COLOURS[chosen ? "chosen" : id] || "var(--ink)";
  const HUES = ["#4e79a7", "#e0803a", "#59a14f", "#b07aa1", "#c7a000", "#d1606a", "#4aa3a0", "#8c6d5a", "#7f8794"];
  const hue = (index) => HUES[index % HUES.length];
  return { data, $, el, unpack, bytes, code, diff, chart, titled, number, thousands, colour, hue };
})();
