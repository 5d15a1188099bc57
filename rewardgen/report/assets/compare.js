"use strict";
(() => {
  const { data, $, el, diff, chart, number, thousands, hue } = page;
  const sides = data.sides.filter(({ curves }) => curves.length);
  const tint = new Map(data.sides.map(({ id }, index) => [id, hue(index)]));
  for (const { id } of data.sides) {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = tint.get(id);
    $("#key").append(el("span", {}, swatch, id));
  }
  const points = sides.flatMap(({ id, curves }) => curves.flatMap(({ seed, points }) => points.map(([at, fitness]) => ({ id, seed, at, fitness }))));
  const means = d3.flatRollup(points, (group) => ({ fitness: d3.mean(group, (p) => p.fitness), n: group.length }), (p) => p.id, (p) => p.at)
    .map(([id, at, mean]) => ({ id, at, ...mean })).filter(({ id, n }) => n === sides.find((side) => side.id === id).curves.length);
  if (points.length)
    chart($("#curves"), () => [{
      height: 240, marginLeft: 46, marginRight: 14, marginBottom: 36, ariaLabel: "Fitness over training",
      x: { label: "control steps", tickFormat: thousands, ticks: 4 }, y: { label: null, ticks: 5, grid: true },
      marks: [
        Plot.line(points, { x: "at", y: "fitness", z: (p) => `${p.id} ${p.seed}`, stroke: (p) => tint.get(p.id), strokeOpacity: 0.3, strokeWidth: 1 }),
        Plot.line(means, { x: "at", y: "fitness", z: "id", stroke: (p) => tint.get(p.id), strokeWidth: 2.4 }),
      ],
    }]);
  const measured = data.sides.filter(({ value }) => value != null);
  const seeds = measured.flatMap(({ id, seeds }) => seeds.map((value) => ({ id, value })));
  if (measured.length)
    chart($("#seeds"), (width) => [{
      height: 40 + 44 * measured.length, marginLeft: Math.min(width / 2.4, 14 + 6.6 * d3.max(measured, ({ id }) => id.length)), marginRight: 14,
      ariaLabel: "Fitness at the end: " + measured.map(({ id, value }) => `${id} ${number(value)}`).join(", "),
      x: { label: null, ticks: 5, nice: true }, y: { label: null, domain: measured.map(({ id }) => id), tickSize: 0, tickFormat: (id) => (id.length > 24 ? `…${id.slice(-23)}` : id) },
      marks: [
        Plot.tickX(seeds, { x: "value", y: "id", stroke: (p) => tint.get(p.id), strokeOpacity: 0.6, inset: 9 }),
        Plot.dot(measured, { x: "value", y: "id", r: 5, fill: (p) => tint.get(p.id) }),
      ],
    }]);
  for (const each of document.querySelectorAll("[data-diff]")) each.replaceWith(diff(data.diffs[+each.dataset.diff], each.getAttribute("aria-label")));
})();
