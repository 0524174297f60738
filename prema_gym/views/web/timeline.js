// Schedules on one axis of time that can be zoomed: wheel, buttons, + − 0 and arrow keys, dragging.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const home = document.getElementById("timeline");
  const span = [data.from_ms, data.to_ms];
  const now = span.slice();
  const ROW = 18, TOP = 4, AXIS = 22, RIGHT = 12;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  function make(name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  const ms = (value) => value.toFixed(value < 10 ? 3 : 2) + " ms";

  const panels = data.schedules.map((schedule) => {
    const box = document.createElement("section");
    const title = document.createElement("h3");
    title.textContent = schedule.title;
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = schedule.headline;
    const svg = make("svg", { tabindex: 0, role: "img", "aria-label": schedule.title + ". " + schedule.headline });
    box.append(title, note, svg);
    home.append(box);
    return { schedule, svg };
  });

  function label(text, room) {
    const most = Math.max(3, Math.floor(room / 8));
    if (text.length <= most) return text;
    // Number, batch and priority stay; the network's name gives way, in its middle.
    const [, before, name, after] = /^(\d+ )(.*)( ×\d+ π=\d+)$/.exec(text) || ["", "", text, ""];
    const kept = Math.max(most - before.length - after.length - 1, 0), end = Math.floor(kept / 2);
    return before + name.slice(0, kept - end) + "…" + (end ? name.slice(-end) : "") + after;
  }

  function draw(panel) {
    const { schedule, svg } = panel;
    const width = home.clientWidth, rows = schedule.rows.length;
    const left = rows && schedule.shared ? 44 : Math.min(190, Math.max(144, width * 0.28));
    const row = schedule.shared ? 10 : ROW, height = TOP + rows * row + AXIS;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    panel.left = left;
    const scale = (width - left - RIGHT) / (now[1] - now[0]);
    const x = (t) => left + (Math.min(Math.max(t, now[0]), now[1]) - now[0]) * scale;
    const inside = (a, b) => b >= now[0] && a <= now[1];
    const parts = [];
    const step = tick((now[1] - now[0]) / Math.max(2, (width - left) / 90));
    for (let t = Math.ceil(now[0] / step) * step; t <= now[1] + step * 1e-9; t += step) {
      parts.push(make("line", { class: "grid", x1: x(t), x2: x(t), y1: TOP, y2: height - AXIS }));
      parts.push(make("text", { x: x(t), y: height - 6, "text-anchor": "middle" }, +t.toFixed(6) + ""));
    }
    schedule.rows.forEach((one, at) => {
      const y = TOP + at * row, middle = y + row / 2;
      if (one.label) parts.push(make("text", { x: left - 6, y: middle + 4, "text-anchor": "end" }, label(one.label, left - 8)));
      one.tasks.forEach((task) => {
        const group = make("g", { "data-task": task.index });
        group.about = task;
        if (inside(task.arrival, task.end))
          group.append(make("line", { class: "wait", x1: x(task.arrival), x2: x(task.end), y1: middle, y2: middle }));
        let shown = -1;
        for (const [kind, start, end] of task.slices) {
          if (!inside(start, end)) continue;
          const from = x(start), wide = Math.max(x(end) - from, kind === "run" ? 0.5 : 1.5);
          if (kind === "run" && wide < 1 && from < shown + 0.5) continue;  // cannot be told apart
          if (kind === "run") shown = from + wide;
          const bar = make("rect", { class: kind === "run" ? "run " + task.shade : kind, x: from, y: y + 2, width: wide, height: row - 4 });
          bar.about = `${task.label}\n${kind}: ${ms(start)} to ${ms(end)}, ${ms(end - start)}`;
          group.append(bar);
        }
        for (const at of task.kills)
          if (inside(at, at)) group.append(make("line", { class: "killed", x1: x(at), x2: x(at), y1: y, y2: y + row }));
        if (inside(task.deadline, task.deadline) && (task.late || !schedule.shared)) {
          const c = x(task.deadline), r = row / 4;
          const path = task.late ? `M${c - r} ${middle - r}L${c + r} ${middle + r}M${c - r} ${middle + r}L${c + r} ${middle - r}`
                                 : `M${c} ${middle - r}L${c + r} ${middle}L${c} ${middle + r}L${c - r} ${middle}Z`;
          group.append(make("path", { class: "deadline" + (task.late ? " late" : ""), d: path }));
        }
        if (task.finished && !schedule.shared && inside(task.end, task.end))
          group.append(make("circle", { class: "end", cx: x(task.end), cy: middle, r: 2.5 }));
        if (group.childNodes.length) parts.push(group);
      });
    });
    svg.replaceChildren(...parts);
  }
  function tick(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
  }
  const drawAll = () => panels.forEach(draw);

  function zoom(factor, at) {
    const wide = Math.min((now[1] - now[0]) * factor, span[1] - span[0]);
    if (wide < 1e-4) return;
    const share = (at - now[0]) / (now[1] - now[0]);
    move(at - share * wide, wide);
  }
  function move(start, wide) {
    now[0] = Math.min(Math.max(start, span[0]), span[1] - wide);
    now[1] = now[0] + wide;
    drawAll();
  }
  const middle = () => (now[0] + now[1]) / 2;
  const actions = {
    "+": () => zoom(0.5, middle()), "=": () => zoom(0.5, middle()), "-": () => zoom(2, middle()),
    0: () => move(span[0], span[1] - span[0]),
    ArrowLeft: () => move(now[0] - (now[1] - now[0]) / 5, now[1] - now[0]),
    ArrowRight: () => move(now[0] + (now[1] - now[0]) / 5, now[1] - now[0]),
  };
  document.querySelectorAll("[data-zoom]").forEach((button) =>
    button.addEventListener("click", () => actions[button.dataset.zoom]()));

  panels.forEach((panel) => {
    const { svg } = panel;
    const time = (event) => {
      const box = svg.getBoundingClientRect();
      return now[0] + ((event.clientX - box.left - panel.left) / (box.width - panel.left - RIGHT)) * (now[1] - now[0]);
    };
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || !(event.key in actions)) return;
      event.preventDefault();
      actions[event.key]();
    });
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;  // the page scrolls as usual
      event.preventDefault();
      zoom(event.deltaY > 0 || event.deltaX > 0 ? 1.25 : 0.8, time(event));
    }, { passive: false });
    let grabbed = null;
    svg.addEventListener("pointerdown", (event) => { grabbed = time(event); });
    window.addEventListener("pointerup", () => { grabbed = null; });
    svg.addEventListener("pointermove", (event) => {
      if (grabbed !== null) return move(now[0] + grabbed - time(event), now[1] - now[0]);
      const group = event.target.closest("g[data-task]");
      document.querySelectorAll(".timeline g[data-task]").forEach((other) =>
        other.classList.toggle("dim", group !== null && other.dataset.task !== group.dataset.task));
      tip.hidden = group === null;
      if (group === null) return;
      const task = group.about;
      tip.textContent = (event.target.about || task.label) +
        `\narrives ${ms(task.arrival)}` + (task.finished ? `, ends ${ms(task.end)}` : ", not finished") +
        `, deadline ${ms(task.deadline)}${task.late ? " missed" : ""}`;
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4)) + "px";
      tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 4) + "px";
    });
    svg.addEventListener("pointerleave", () => {
      tip.hidden = true;
      document.querySelectorAll(".timeline .dim").forEach((other) => other.classList.remove("dim"));
    });
  });
  let asked = false;
  window.addEventListener("resize", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; drawAll(); });
  });
  drawAll();
})();
