"use strict";
// Two films of a question on one clock, with curves of their variables on demand, the answers of a person, and in
// between what the run does.
(() => {
  const POLL_MS = 700;
  const APART_S = 0.06;
  const HELD_MS = 800;
  const { $, data } = page;
  const films = [$("#left"), $("#right")];
  const charts = [...document.querySelectorAll(".curves")];
  const pickers = [...document.querySelectorAll(".curve select")];
  const bar = $("#time");
  const buttons = [...document.querySelectorAll("#question button")];
  const pressed = { pause: matchMedia("(prefers-reduced-motion: reduce)").matches, half: false };
  let turn = null; // of the films on the page
  let curves = [];
  let pointed = false;
  let answered = null;
  let draft = ""; // typed for the open question, while the latest answer is taken back
  let over = "";
  let held = 0;

  // The longer film is the clock; the other follows, and holds its last frame.
  function follow(now) {
    const clock = films[1].duration > films[0].duration ? films[1] : films[0];
    const other = films[clock === films[0] ? 1 : 0];
    if (turn !== null) mark(clock);
    if (turn !== null && !pressed.pause) {
      const place = Math.min(clock.currentTime, other.duration);
      if (!other.seeking && Math.abs(other.currentTime - place) > APART_S) other.currentTime = place;
      if (!clock.ended) held = now;
      else if (now - held > HELD_MS) seek(0);
    }
    requestAnimationFrame(follow);
  }
  function mark(clock) {
    if (!bar.matches(":active")) bar.value = clock.currentTime;
    $("#at").textContent = `${clock.currentTime.toFixed(1)} s`;
    films.forEach((film, side) => {
      const { times_s, values } = curves[side];
      const at = Math.min(d3.bisectLeft(times_s, film.currentTime - 0.001), times_s.length - 1);
      $("line", charts[side]).setAttribute("transform", `translate(${film.currentTime / bar.max})`);
      pickers.forEach(({ value: name }, index) => {
        const text = name && `${name} ${page.number(values[name][at])}`;
        document.querySelectorAll(".value")[2 * side + index].textContent = text;
      });
    });
  }
  // A curve has one scale on both sides, from its lowest value to its highest; all share the time of the longer film.
  function draw() {
    pickers.forEach((picker, index) => {
      const sides = curves.map((side) => side.values[picker.value] ?? []);
      const [low, high] = d3.extent(sides.flat());
      const up = d3.scaleLinear([low ?? 0, high ?? 0], [0.94, 0.06]);
      sides.forEach((values, side) => {
        const line = d3.line((_, at) => curves[side].times_s[at] / bar.max, up).defined((value) => value != null);
        charts[side].children[index].setAttribute("d", line.digits(5)(values) ?? "");
        charts[side].toggleAttribute("hidden", pickers.every((each) => !each.value));
      });
      $("span", picker.parentElement).textContent = low == null ? "" : `${page.number(low)} to ${page.number(high)}`;
    });
  }
  function play() {
    for (const film of films) {
      film.playbackRate = pressed.half ? 0.5 : 1;
      if (pressed.pause) film.pause();
      else if (!film.ended) film.play().catch(() => {});
    }
    for (const name in pressed) $(`[data-do=${name}]`).setAttribute("aria-pressed", pressed[name]);
  }
  function seek(time) {
    held = performance.now();
    for (const film of films) {
      film.currentTime = Math.min(time, film.duration);
      if (!pressed.pause && time < film.duration) film.play().catch(() => {});
    }
  }
  function toggle(name) {
    pressed[name] = !pressed[name];
    play();
  }

  function load(place, read) {
    return Promise.all(["left", "right"].map(async (side) => {
      const reply = await fetch(`${place}/${side}`);
      if (!reply.ok) throw new Error(side);
      return reply[read]();
    }));
  }
  async function show(next) {
    const sources = (await load(`films/${next}`, "blob")).map((film) => URL.createObjectURL(film));
    curves = await load(`curves/${next}`, "json");
    for (const picker of pickers)
      if (picker.length === 1) picker.append(...Object.keys(curves[0].values).map((name) => page.el("option", {}, name)));
    await Promise.all(films.map((each, index) => new Promise((ready, failed) => {
      URL.revokeObjectURL(each.src);
      each.oncanplaythrough = ready;
      each.onerror = failed;
      each.src = sources[index];
    })));
    for (const each of films) each.oncanplaythrough = each.onerror = null;
    bar.max = Math.max(...films.map((each) => each.duration));
    draw();
    turn = next;
    play();
  }
  function wait(text, done) {
    turn = null;
    $("#question").hidden = true;
    $("#doing").textContent = text;
    $("#doing").parentElement.hidden = false;
    $("#done").hidden = done == null;
    $("#done").value = done ?? 0;
    for (const each of films) each.pause();
  }

  let timer = 0;
  let polled = Promise.resolve();
  function poll() {
    polled = polled.then(once); // never two at a time: both would show the question, and the later empty its words
  }
  async function once() {
    try {
      await take(await (await fetch("state")).json());
    } catch {
      wait(over || `The run does not answer: it has ended, or \`${data.resume}\` asks this question again, at a new address.`);
    }
    document.title = `${turn === null ? "" : "● "}${data.task} · rewardgen`;
    clearTimeout(timer);
    timer = setTimeout(poll, POLL_MS);
  }
  async function take(state) {
    $("#asked").textContent = state.over ? "" : state.progress;
    if (state.over) over = `The search has ended; thank you. The report, after the finals: ${state.report}`;
    if (state.turn == null || state.turn === answered) {
      const doing = `Nothing to compare now. ${state.text[0].toUpperCase()}${state.text.slice(1)}`;
      return wait(state.over ? over : answered && state.turn === answered ? "Noted" : doing, state.done);
    }
    if (state.turn !== turn) {
      turn = null;
      await show(state.turn);
      const why = $("#why");
      [why.value, draft] = state.again ? ["", why.value] : [draft, ""];
    }
    $("#doing").parentElement.hidden = true;
    $("#question").hidden = false;
    $("#again").hidden = !state.again;
    $("#undo").disabled = !state.undo;
    $("#undo span").textContent = state.again ? "Keep that answer" : "Undo the latest answer";
  }
  async function send(answer) {
    if (turn === null) return;
    const body = JSON.stringify({ turn, answer, why: answer === "undo" ? "" : $("#why").value });
    answered = turn;
    if (answer !== "undo") draft = "";
    document.activeElement.blur(); // so that the next space does not press this button again
    wait("Noted");
    const reply = await fetch("answer", { method: "POST", body }).catch(() => null);
    if (!reply?.ok) answered = null;
    poll();
  }

  for (const button of buttons)
    button.addEventListener("click", () => {
      const { answer, do: name } = button.dataset;
      if (answer) send(answer);
      else if (name === "replay") seek(0);
      else toggle(name);
    });
  bar.addEventListener("input", () => seek(+bar.value));
  for (const picker of pickers) picker.addEventListener("change", draw);
  // After a click on the bar or a list, the next arrow answers.
  addEventListener("pointerdown", () => (pointed = true));
  for (const field of [bar, ...pickers]) field.addEventListener("change", () => pointed && field.blur());
  $("#why").addEventListener("keydown", (event) => {
    if (["Enter", "Escape"].includes(event.key)) $("#why").blur();
  });
  addEventListener("keydown", (event) => {
    pointed = false;
    const inside = event.target.closest?.("#why, select, summary, a") || (event.key === " " && event.target.closest?.("button"));
    const seeks = event.target === bar && event.key.startsWith("Arrow");
    if (inside || seeks || event.repeat || event.ctrlKey || event.metaKey || event.altKey || turn === null) return;
    const button = buttons.find((each) => each.dataset.key === event.key);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });
  requestAnimationFrame(follow);
  poll();
})();
