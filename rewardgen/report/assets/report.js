"use strict";
(() => {
  const { data, $, el, unpack, bytes, code, diff, chart, titled, number, thousands, colour, hue } = page;
  const rows = new Map(data.rows.map((row, order) => [row.id, { ...row, order: order + 1 }]));
  const all = [...rows.values()];
  const own = new Map(data.bars.map((bar) => [bar.id, bar]));
  const axis = { label: null, ticks: 4, grid: true };
  const steps = { label: "control steps", tickFormat: thousands, ticks: 4 };

  function forest() {
    if (!data.finals.length) return;
    const seeds = data.finals.flatMap(({ id, seeds }) => seeds.map((value) => ({ id, value })));
    $("#forest").append(el("figcaption", {}, "Fitness on the fresh seeds: each seed, the estimate, its 95 % interval"));
    chart($("#forest"), () => [
      {
        height: 34 + 34 * data.finals.length,
        marginLeft: Math.max(56, 14 + 6.5 * d3.max(data.finals, ({ id }) => id.length)),
        marginTop: 4,
        ariaLabel: "Fitness on the fresh seeds: " + data.finals.map(({ id, bounds: [value, low, high] }) =>
          `${id} ${number(value)}, interval ${number(low)} to ${number(high)}`).join("; "),
        x: { label: null, ticks: 5, nice: true },
        y: { domain: data.finals.map(({ id }) => id), label: null, tickSize: 0 },
        marks: [
          Plot.tickX(seeds, { x: "value", y: "id", stroke: "var(--quiet)", strokeOpacity: 0.45, inset: 8 }),
          Plot.ruleY(data.finals, { y: "id", x1: (each) => each.bounds[1], x2: (each) => each.bounds[2], strokeWidth: 2.5, stroke: (each) => colour(each.id, each.chosen) }),
          Plot.dot(data.finals, { y: "id", x: (each) => each.bounds[0], r: 5, fill: (each) => colour(each.id, each.chosen) }),
        ],
      },
    ]);
  }

  function progress() {
    const trained = all.filter(({ merit }) => merit != null);
    if (!trained.length) return;
    const bars = data.measure === "fitness" ? data.bars : [];
    let best = -Infinity;
    const course = trained.map(({ order, merit }) => ({ order, best: (best = Math.max(best, merit)) }));
    course.push({ order: all.length + 0.6, best });
    const starts = all.filter((row, index) => !index || row.generation !== all[index - 1].generation);
    const span = d3.max([...bars, ...trained], (each) => each.merit) - d3.min([...bars, ...trained], (each) => each.merit) || 1;
    const lines = [...bars, { id: "best so far", merit: best }].sort((one, other) => other.merit - one.merit);
    const labels = lines.map((line, index) => {
      const near = (other) => other && Math.abs(other.merit - line.merit) < 0.07 * span;
      return { ...line, label: `${line.id} ${number(line.merit)}`, dy: (near(lines[index + 1]) ? -7 : 0) + (near(lines[index - 1]) ? 7 : 0) };
    });
    const keys = [all.some(({ stopped }) => stopped) && "ring: stopped early", all.some(({ merit, status }) => merit == null && ["rejected", "failed"].includes(status)) && "×: rejected or failed"].filter(Boolean);
    $("#progress").append(el("figcaption", {}, [data.measure === "fitness" ? "Mean fitness of each candidate over its seeds, with its standard error" : "Strength of each candidate by all comparisons, with its standard error", ...keys].join("; ") + ". Click one to see it."));
    const stroke = ({ chosen }) => (chosen ? "var(--accent)" : "var(--quiet)");
    chart($("#progress"), (width) => [
      {
        height: Math.min(300, 160 + width / 8),
        marginTop: 14,
        marginBottom: 24,
        marginRight: 14 + 7 * d3.max(labels, ({ label }) => label.length),
        ariaLabel: `${data.measure} of each candidate in the order of the search; the best of them is ${number(best)}`,
        x: { domain: [0.4, all.length + 0.6], axis: null },
        y: { label: null, ticks: 5, grid: true, nice: true },
        marks: [
          Plot.ruleX(starts, { x: (row) => row.order - 0.5, stroke: "var(--line)" }),
          Plot.text(starts.filter((_, index) => index % Math.ceil((starts.length * 34) / width) === 0), { x: (row) => row.order - 0.4, text: (row) => row.id.split("-")[0], frameAnchor: "bottom", textAnchor: "start", dy: 16, fill: "var(--quiet)" }),
          Plot.ruleY(bars, { y: "merit", stroke: ({ id }) => colour(id), strokeDasharray: "5 4" }),
          ...labels.map(({ id, merit, label, dy }) => Plot.text([merit], { y: (each) => each, text: [label], frameAnchor: "right", textAnchor: "start", dx: 6, dy, fill: colour(id) })),
          Plot.line(course, { x: "order", y: "best", curve: "step-after", stroke: "var(--accent)", strokeWidth: 1.5, strokeOpacity: 0.65 }),
          Plot.ruleX(trained, { x: "order", y1: (row) => row.merit - row.spread, y2: (row) => row.merit + row.spread, stroke, strokeOpacity: 0.5 }),
          Plot.dot(trained, { x: "order", y: "merit", r: ({ chosen }) => (chosen ? 5.5 : 3.5), stroke, fill: (row) => (row.chosen ? "var(--accent)" : row.stopped ? "var(--bg)" : "var(--quiet)") }),
          Plot.text(all.filter(({ merit, status }) => merit == null && ["rejected", "failed"].includes(status)), { x: "order", text: () => "×", frameAnchor: "bottom", dy: 2, fill: "var(--bad)", fontSize: 13 }),
          Plot.tip(all, Plot.pointerX({ x: "order", y: ({ merit }) => merit ?? undefined, title: ({ id, operator, text, status, reason }) => `${id} ${operator}\n${text || status}\n${reason.slice(0, 90)}`, fill: "var(--surface)", stroke: "var(--line)", frameAnchor: "bottom" })),
        ],
      },
      ({ id }) => show(id),
    ]);
  }
  // The tree: a column for each generation, in each a button for each candidate; only one of them is a tab stop.
  const nodes = new Map();
  const edges = [];
  function tree() {
    const place = $("#tree");
    const columns = d3.groups(all, (row) => row.generation).map(([, members]) => members);
    const rank = new Map();
    columns.forEach((members) => {
      members.forEach((row, index) => rank.set(row.id, d3.mean(row.parents.filter((id) => rank.has(id)), (id) => rank.get(id)) ?? index));
      members.sort((one, other) => rank.get(one.id) - rank.get(other.id) || one.order - other.order);
      members.forEach((row, index) => rank.set(row.id, index));
    });
    const narrow = place.clientWidth < 600;
    const node = narrow ? 112 : 128;
    const room = (place.clientWidth - 26 - node) / Math.max(1, columns.length - 1);
    const [wide, high] = [Math.max(node + 44, Math.min(room, node + 150)), 52];
    const most = d3.max(columns, (members) => members.length) || 1;
    const inner = el("div", { class: "inner" });
    inner.style.width = `${columns.length * wide - (wide - node) + 24}px`;
    inner.style.height = `${most * high + 38}px`;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("width", "100%");
    svg.setAttribute("height", "100%");
    svg.setAttribute("aria-hidden", "true");
    inner.append(svg);
    columns.forEach((members, column) => {
      const label = el("div", { class: "column" }, members[0].id.split("-")[0]);
      label.style.left = `${12 + column * wide}px`;
      inner.append(label);
      const top = 32 + ((most - members.length) * high) / 2;
      members.forEach((row, index) => {
        const [x, y] = [12 + column * wide, top + index * high];
        const out = row.merit == null;
        const value = out ? row.status : number(row.merit);
        const from = row.parents.length ? ` of ${row.parents.join(" and ")}` : "";
        const button = el(
          "button",
          { type: "button", class: `node${out ? " out" : ""}${row.chosen ? " chosen" : ""}`, tabindex: -1, title: row.reason,
            "aria-label": `${row.id}, ${row.operator}${from}, ${out ? row.status : `${data.measure} ${value}`}${row.chosen ? ", chosen" : ""}`,
            onclick: () => show(row.id), onkeydown: (event) => walk(event, row) },
          el("b", {}, row.id), el("span", { class: "right" }, out ? "" : value), el("br"), el("span", {}, out ? value : row.operator),
        );
        button.style.width = `${node}px`;
        button.style.left = `${x}px`;
        button.style.top = `${y}px`;
        nodes.set(row.id, { button, x, y, column, index, members });
        inner.append(button);
      });
    });
    for (const row of all)
      for (const parent of row.parents) {
        const [from, to] = [nodes.get(parent), nodes.get(row.id)];
        if (!from) continue;
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        const [x1, y1, x2, y2] = [from.x + node, from.y + 21, to.x, to.y + 21];
        path.setAttribute("d", `M${x1},${y1}C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}`);
        svg.append(path);
        edges.push({ path, parent, child: row.id });
      }
    place.append(inner);
  }
  function walk(event, row) {
    const { members, index } = nodes.get(row.id);
    const beside = (by) => members[index + by]?.id;
    const to = {
      ArrowLeft: () => row.parents.find((id) => nodes.has(id)),
      ArrowRight: () => all.find(({ parents }) => parents.includes(row.id))?.id,
      ArrowUp: () => beside(-1),
      ArrowDown: () => beside(1),
      Home: () => all[0].id,
      End: () => data.featured,
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const id = to();
    if (id) show(id), nodes.get(id).button.focus();
  }
  function ancestors(id, found = new Set()) {
    found.add(id);
    for (const parent of rows.get(id)?.parents || []) if (!found.has(parent)) ancestors(parent, found);
    return found;
  }
  function mark(id) {
    const near = ancestors(id);
    for (const [name, { button }] of nodes) {
      button.tabIndex = name === id ? 0 : -1;
      if (name === id) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    for (const { path, parent, child } of edges) {
      const lit = near.has(child) && near.has(parent);
      path.classList.toggle("near", lit);
      if (lit) path.parentNode.append(path);
    }
    const place = $("#tree");
    const node = nodes.get(id);
    if (!node) {
      const first = nodes.get(data.featured) || [...nodes.values()][0];
      if (first) first.button.tabIndex = 0;
      return;
    }
    if (node.x < place.scrollLeft || node.x + 140 > place.scrollLeft + place.clientWidth) place.scrollLeft = node.x - place.clientWidth / 2 + 64;
    if (node.y < place.scrollTop || node.y + 50 > place.scrollTop + place.clientHeight) place.scrollTop = node.y - place.clientHeight / 2;
  }

  // One candidate.
  let shown = null;
  async function show(id, jump = false) {
    if (!rows.has(id) && !own.has(id)) return;
    shown = id;
    mark(id);
    const detail = await unpack(`detail/${id}`);
    if (shown !== id) return;
    const place = $("#candidate");
    place.setAttribute("aria-label", `Candidate ${id}`);
    place.replaceChildren(...candidate(id, detail).filter(Boolean));
    if (jump) {
      place.scrollIntoView({ block: "start" });
      place.focus({ preventScroll: true });
    }
  }
  function candidate(id, detail) {
    const row = rows.get(id);
    const position = all.findIndex((each) => each.id === id);
    const step = (by, words) => {
      const to = all[position + by];
      return row && to && el("button", { type: "button", class: "step", onclick: () => show(to.id), "aria-label": `${words}: ${to.id}` }, by < 0 ? "←" : "→");
    };
    const origin = row
      ? [row.operator, row.parents.length ? " of " : "", ...row.parents.flatMap((parent, index) => [index ? " and " : "", link(parent)])]
      : ["the task's own reward"];
    const result = row ? (row.text ? `${data.measure} ${row.text}${row.percent ? `, success ${row.percent}` : ""}` : row.status) : `fitness ${own.get(id).text}`;
    const head = el("div", { class: "head" }, el("h3", {}, id), el("span", {}, ...origin), el("span", {}, result),
      row?.chosen && el("span", { class: "tag" }, "chosen"), el("span", { class: "steps" }, step(-1, "Before"), step(1, "After")));
    if (!detail) {
      const told = data.blocks[`detail/${id}`] === undefined && row?.status !== "designing" ? `The rest is left out for size; it lies in candidates/${id}/ of the run's folder.` : "Nothing more is known yet.";
      return [head, el("p", { class: "words" }, ticked(row?.reason || "")), el("p", { class: "quiet" }, told)];
    }
    const ended = row && row.merit == null && detail.accepted && row.reason;
    const told = [...words("Idea", detail.idea), ...words("Prediction", detail.prediction), ...claims(detail.claims), ...review(detail), ...analysis(detail)];
    const code = sources(id, detail);
    return [
      head,
      ended && el("p", { class: "caution" }, ticked(row.reason)),
      told.length && code.length ? el("div", { class: "two even" }, el("div", {}, told), el("div", {}, code)) : el("div", {}, told, code),
      ...stages(detail.stages),
      ...words("What policies see", detail.seen),
      ...detail.trainings.flatMap(training),
      ...components(detail.components),
      talk(id),
    ];
  }
  const link = (id) => el("a", { href: `#${id}` }, id);
  const words = (title, text) => (text ? [el("h3", {}, title), el("p", { class: "words" }, ticked(text))] : []);
  // What stands between backquotes is code.
  function ticked(text) {
    const parts = text.split("`");
    return parts.length % 2 ? parts.map((part, index) => (index % 2 ? el("code", {}, part) : part)) : [text];
  }
  function claims(told) {
    if (!told.length) return [];
    const tone = { held: "good", failed: "bad" };
    const lines = told.map(({ claim, outcome, measured }) => el("li", {}, `${claim}: `, el("strong", { class: tone[outcome] || "" }, outcome), measured == null ? "" : `, measured ${number(measured)}`));
    return [el("h3", {}, "What became of the prediction"), el("ul", { class: "plain" }, lines)];
  }
  function review(detail) {
    const list = (findings) => el("ul", { class: "plain findings" }, findings.map((each) =>
      el("li", {}, el("span", { class: each.severity }, each.severity), ` ${each.gate} / ${each.detector}${each.line ? `, line ${each.line}` : ""}: `, ticked(each.message),
        each.evidence && el("span", { class: "hint" }, `measured: ${each.evidence}`), each.hint && el("span", { class: "hint" }, "hint: ", ticked(each.hint)))));
    const parts = [];
    if (detail.failure) parts.push(el("h3", {}, "There is no reward"), el("p", { class: "words" }, ticked(detail.failure)));
    if (detail.first) {
      parts.push(el("h3", {}, "First version, rejected"), list(detail.first.findings));
      parts.push(el("details", {}, el("summary", {}, "The repair"), diff(detail.first.diff, "What the repair changed")));
    }
    const title = detail.accepted ? (detail.findings.length ? "The gates let it pass, and noted" : "") : "Rejected at the gates";
    if (title && detail.findings.length) parts.push(el("h3", {}, title), list(detail.findings));
    return parts;
  }
  function stages(machine) {
    if (!machine?.length) return [];
    const boxes = machine.map(({ name, time, text }) => el("li", {}, el("strong", {}, name), el("span", { class: "share", style: `width: ${Math.max(1, 100 * time)}%` }), el("span", { class: "quiet" }, text)));
    return [el("h3", {}, "Stages in the last evaluation"), el("ol", { class: "stages" }, boxes)];
  }
  function training({ title, seeds }) {
    const curves = seeds.filter(({ curve }) => curve.length);
    const points = curves.flatMap(({ seed, curve }) => curve.map(([at, fitness, pay, success, endings]) => ({ seed, at, fitness, pay, success, endings })));
    const mean = d3.rollups(points, (group) => ({ at: group[0].at, fitness: d3.mean(group, (p) => p.fitness), pay: d3.mean(group, (p) => p.pay), n: group.length }), (p) => p.at)
      .map(([, value]) => value).filter(({ n }) => n === curves.length).sort((one, other) => one.at - other.at);
    const over = (y, label, tint) => titled(label, () => [{
      height: 170, marginLeft: 46, marginRight: 14, marginBottom: 36, x: steps, y: axis, ariaLabel: `${label}, over control steps; the mean ends at ${number(mean.at(-1)?.[y])}`,
      marks: [
        Plot.line(points, { x: "at", y, z: "seed", stroke: tint, strokeOpacity: 0.35, strokeWidth: 1 }),
        Plot.line(mean, { x: "at", y, stroke: tint, strokeWidth: 2.2 }),
        Plot.dot(mean, { x: "at", y, r: 2, fill: tint }),
        Plot.tip(points, Plot.pointer({ x: "at", y, title: (p) => `seed ${p.seed}, step ${p.at.toLocaleString("en")}\n${number(p[y])}`, fill: "var(--surface)", stroke: "var(--line)" })),
      ],
    }]);
    const against = titled("Fitness against return, from ring to dot", () => [{
      height: 170, marginLeft: 46, marginRight: 14, marginBottom: 36, x: { label: "return per episode", ticks: 4, nice: true }, y: axis,
      ariaLabel: "Mean fitness against mean return over the training",
      marks: [
        Plot.line(mean, { x: "pay", y: "fitness", stroke: "var(--quiet)", strokeWidth: 1.4 }),
        Plot.dot(mean.slice(1, -1), { x: "pay", y: "fitness", r: 2, fill: "var(--quiet)" }),
        Plot.dot(mean.slice(0, 1), { x: "pay", y: "fitness", r: 4.5, stroke: "var(--ink)", fill: "var(--bg)" }),
        Plot.dot(mean.slice(-1), { x: "pay", y: "fitness", r: 4.5, fill: "var(--ink)" }),
      ],
    }]);
    const causes = [...new Set(points.flatMap((point) => Object.keys(point.endings)))];
    const ends = mean.flatMap(({ at }) => {
      const here = points.filter((point) => point.at === at);
      return causes.map((cause) => ({ at, cause, share: d3.mean(here, ({ endings }) => endings[cause] || 0) }));
    });
    const ended = causes.length < 2 ? [] : [el("div", {}, titled("How episodes end", () => [{
      height: 170, marginLeft: 46, marginRight: 14, marginBottom: 36, x: steps, y: { ...axis, percent: true, domain: [0, 100] }, color: { domain: causes, range: causes.map((_, index) => hue(index)) },
      ariaLabel: `Share of episodes by what ends them: ${causes.join(", ")}`,
      marks: [Plot.areaY(ends, Plot.stackY({ x: "at", y: "share", fill: "cause", order: causes }))],
    }]), legend(causes))];
    const columns = data.has_fitness ? ["seed", "fitness", "success", "steps", "time"] : ["seed", "steps", "time"];
    const table = el("table", { class: "seeds" }, el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col", class: "num" }, name)), el("th", { scope: "col" }, "episodes end by"))),
      el("tbody", {}, seeds.map((each) => el("tr", {}, columns.map((name) => each[name]).map((cell) => el("td", { class: "num" }, `${cell}`)),
        el("td", {}, each.ended || Object.entries(each.endings).map(([cause, share]) => `${cause} ${Math.round(100 * share)} %`).join(", "))))));
    const few = mean.length > 1 ? [el("div", { class: "charts" }, data.has_fitness && over("fitness", "Fitness, by seed and mean", "var(--accent)"), over("pay", "Return per episode, by seed and mean", "var(--human)"), data.has_fitness && against, ended)] : [];
    return [el("h3", {}, `Training: ${title}`), ...few, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Seeds, ${title}` }, table)];
  }
  function legend(names, tint = (_, index) => hue(index)) {
    return el("p", { class: "key" }, names.map((name, index) => {
      const swatch = el("span", { class: "swatch" });
      swatch.style.background = tint(name, index);
      return el("span", {}, swatch, name);
    }));
  }
  function components(told) {
    const names = Object.keys(told);
    if (!names.length) return [];
    const points = names.flatMap((name) => told[name].map(([at, mean, share]) => ({ name, at, mean, share })));
    const color = { domain: names, range: names.map((_, index) => hue(index)) };
    const options = { height: 190, marginLeft: 46, marginRight: 14, marginBottom: 36, x: steps, color };
    return [
      el("h3", {}, "Components over training"),
      legend(names),
      el("div", { class: "charts" },
        titled("Mean per step", () => [{ ...options, y: axis, ariaLabel: `Mean of each component per step: ${names.join(", ")}`, marks: [
          Plot.ruleY([0], { stroke: "var(--line)" }),
          Plot.line(points, { x: "at", y: "mean", stroke: "name", strokeWidth: 2 }),
          Plot.tip(points, Plot.pointer({ x: "at", y: "mean", title: (p) => `${p.name}\n${number(p.mean)} per step`, fill: "var(--surface)", stroke: "var(--line)" })),
        ] }]),
        titled("Share of all sizes", () => [{ ...options, y: { ...axis, percent: true, domain: [0, 100] }, ariaLabel: "Share of each component in the size of the reward", marks: [
          Plot.areaY(points, Plot.stackY({ x: "at", y: "share", fill: "name", order: names })),
        ] }])),
    ];
  }
  function analysis({ text, flags, diagnosis }) {
    if (!text) return [];
    return [
      el("h3", {}, "What training showed"),
      flags.length ? el("ul", { class: "plain" }, flags.map(({ detector, message }) => el("li", {}, ticked(message), " ", el("span", { class: "quiet" }, `[${detector}]`)))) : null,
      ...(diagnosis ? words("The analyzer's reading", diagnosis) : []),
      el("details", {}, el("summary", {}, "The numbers, as the next designer is told them"), el("pre", { tabindex: 0, "aria-label": "Analysis" }, text)),
    ].filter(Boolean);
  }
  function sources(id, { source, diffs }) {
    if (!source) return [];
    const changes = diffs.map(({ parent, diff: text }, index) => el("details", { open: !index }, el("summary", {}, `Change from ${parent}`), text ? diff(text, `Change from ${parent} to ${id}`) : el("p", {}, "None: the code is the same.")));
    return [el("h3", {}, "Code"), ...changes, el("details", { open: !diffs.length }, el("summary", {}, "The whole reward"), code(source))];
  }
  // Prompts and replies are unpacked when they are opened.
  function talk(owner) {
    const name = `calls/${owner}`;
    if (!(name in data.blocks)) return null;
    const place = el("details", { ontoggle: fill }, el("summary", {}, "Prompts and replies"));
    async function fill() {
      place.removeEventListener("toggle", fill);
      const calls = await unpack(name);
      place.append(...calls.map((call) => {
        const spent = [call.model, `${call.tokens.toLocaleString("en")} tokens`, call.cost == null ? "price unknown" : `$${call.cost.toFixed(4)}`, call.seconds == null ? "" : `${call.seconds} s`].filter(Boolean).join(", ");
        const messages = call.messages.map(({ role, content }) => el("details", {}, el("summary", {}, role), el("pre", { class: "text", tabindex: 0, "aria-label": `${call.label}, ${role}` }, content)));
        const answer = call.reply == null ? el("p", { class: "caution" }, call.failure) : el("details", { open: true }, el("summary", {}, "reply"), el("pre", { class: "text", tabindex: 0, "aria-label": `${call.label}, reply` }, call.reply));
        return el("div", {}, el("h3", {}, call.label, " ", el("span", { class: "quiet" }, spent)), messages, answer);
      }));
    }
    return place;
  }

  function shares(detail) {
    const place = $("#shares");
    const entries = Object.entries(detail?.components || {}).map(([name, points]) => ({ name, share: points.at(-1)[2] })).sort((one, other) => other.share - one.share);
    if (!place || !entries.length) return $("#made-of")?.remove();
    const left = Math.min(190, 12 + 6.6 * d3.max(entries, ({ name }) => name.length));
    chart(place, () => [{
      height: 12 + 24 * entries.length, marginLeft: left, marginRight: 48, marginTop: 2, marginBottom: 2,
      ariaLabel: "Share of each component: " + entries.map(({ name, share }) => `${name} ${Math.round(100 * share)} %`).join(", "),
      x: { axis: null, domain: [0, Math.max(0.01, d3.max(entries, ({ share }) => share))] }, y: { label: null, domain: entries.map(({ name }) => name), tickSize: 0, tickFormat: (name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name) },
      marks: [
        Plot.barX(entries, { y: "name", x: "share", fill: "var(--accent)", fillOpacity: 0.75, insetTop: 3, insetBottom: 3 }),
        Plot.text(entries, { y: "name", x: "share", text: ({ share }) => (share < 0.01 ? "<1 %" : `${Math.round(100 * share)} %`), textAnchor: "start", dx: 6 }),
      ],
    }]);
  }

  function transfers() {
    const tints = new Map(data.transfers.map(({ id }) => [id, colour(id, id === data.featured)]));
    if (tints.size > 1) $("#transfers").before(legend([...tints.keys()], (id) => tints.get(id)));
    for (const name of new Set(data.transfers.map((each) => each.name))) {
      const points = data.transfers.filter((each) => each.name === name);
      const seeds = points.flatMap((each) => each.seeds.map((fitness) => ({ ...each, fitness })));
      const stroke = ({ id }) => tints.get(id);
      $("#transfers").append(titled(`Fitness by ${name}: estimate and each policy`, () => [{
        height: 190, marginLeft: 46, marginRight: 14, marginBottom: 36, y: axis,
        x: { label: name === "delay" ? "control steps" : "factor", ticks: [...new Set(points.map(({ value }) => value))], tickFormat: number },
        ariaLabel: `Fitness by ${name}: ` + points.map(({ id, value, fitness }) => `${id} ${number(fitness)} at ${number(value)}`).join("; "),
        marks: [
          Plot.ruleX([name === "delay" ? 0 : 1], { stroke: "var(--quiet)", strokeDasharray: "4 4" }),
          Plot.dot(seeds, { x: "value", y: "fitness", r: 2, fill: stroke, fillOpacity: 0.4 }),
          Plot.line(points, { x: "value", y: "fitness", z: "id", stroke, strokeWidth: 2 }),
          Plot.dot(points, { x: "value", y: "fitness", r: 3, fill: stroke }),
          Plot.tip(points, Plot.pointer({ x: "value", y: "fitness", title: ({ id, value, fitness }) => `${id}, ${name} ${number(value)}\n${number(fitness)}`, fill: "var(--surface)", stroke: "var(--line)" })),
        ],
      }]));
    }
  }

  function films() {
    const video = $("#video");
    if (!video) return;
    const still = $("#still");
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const load = (index) => {
      URL.revokeObjectURL(video.src);
      video.src = URL.createObjectURL(new Blob([bytes(data.films[index])], { type: "video/mp4" }));
      video.autoplay = !calm;
    };
    const play = $("#play");
    const turn = () => (video.paused ? video.play() : video.pause());
    play.addEventListener("click", turn);
    video.addEventListener("click", turn);
    for (const each of ["play", "pause"]) video.addEventListener(each, () => (play.textContent = video.paused ? "Play" : "Pause"));
    video.addEventListener("loadeddata", () => {
      video.hidden = play.hidden = false;
      still.hidden = true;
      play.textContent = video.autoplay ? "Pause" : "Play";
    });
    load(0);
    const reels = [...document.querySelectorAll(".reel")];
    if (reels.length) $(".reels").hidden = false;
    for (const reel of reels)
      reel.addEventListener("click", () => {
        for (const each of reels) each.setAttribute("aria-pressed", each === reel);
        $("#caption").replaceChildren(el("strong", {}, `${reel.textContent}.`), " ", reel.dataset.caption);
        video.setAttribute("aria-label", reel.textContent);
        load(+reel.dataset.film);
      });
  }

  function general() {
    const place = $("#talk");
    for (const name of Object.keys(data.blocks)) {
      const owner = name.slice("calls/".length);
      if (!name.startsWith("calls/") || rows.has(owner)) continue;
      const told = talk(owner);
      $("summary", told).textContent = `Prompts and replies: ${owner}`;
      place.append(told);
    }
  }

  const named = () => decodeURIComponent(location.hash.slice(1));
  addEventListener("hashchange", () => show(named(), true));
  forest();
  progress();
  tree();
  films();
  transfers();
  general();
  const wanted = rows.has(named()) || own.has(named()) ? named() : null;
  unpack(`detail/${data.featured}`).then(shares);
  if (wanted) show(wanted, true);
  else if (all.length) show(data.featured || all[0].id);
})();
