"use strict";
// Own areas: drawn on the map, taken from published ones or uploaded; named, edited, removed.
(() => {
  const { byId, el, state, count } = odanon;
  const most = { areas: 200, bytes: 5e6 };

  // What happened, below the map; mistakes are marked and are read out.
  odanon.say = (text, isMistake = false) => {
    byId("hint").classList.toggle("problem", isMistake);
    byId("hint").textContent = text;
  };

  const replace = (areas, pair = null) => odanon.choose({ areas, pair });
  const freeName = () => {
    const taken = new Set(state.areas.map((area) => area.name));
    let n = state.areas.length + 1;
    while (taken.has(`Area ${n}`)) n++;
    return `Area ${n}`;
  };
  const add = (more) => {
    if (state.areas.length + more.length > most.areas) {
      odanon.say(`There can be ${most.areas} areas at once; remove some first.`, true);
      return;
    }
    const areas = [...state.areas, ...more];
    const pair = state.pair || (areas.length > 1 ? [0, 1] : null);
    odanon.choose({ areas, pair, panel: "areas" });
  };
  // A removed area takes its pair along.
  const remove = (index) => {
    const kept = state.pair && !state.pair.includes(index) ? state.pair.map((i) => (i > index ? i - 1 : i)) : null;
    replace(
      state.areas.filter((_, i) => i !== index),
      kept,
    );
    odanon.say(`Area removed; ${count(state.areas.length, "area is", "areas are")} left.`);
    byId("tab-areas").focus();
  };

  const upload = async (file) => {
    if (!file) return;
    if (file.size > most.bytes) {
      odanon.say(`${file.name} has more than 5 MB; simplify or split it.`, true);
      return;
    }
    const question = `api/areas?${new URLSearchParams({ name: file.name })}`;
    const show = (found) => {
      add(found.features.map(odanon.shapes.fromFeature));
      odanon.say(`${count(found.features.length, "area", "areas")} from ${file.name}.`);
      odanon.areas.look();
    };
    await odanon.answer(
      byId("area-list"),
      byId("hint"),
      `Reading ${file.name} …`,
      () => odanon.ask("upload", question, odanon.bytes(file)),
      show,
    );
  };
  byId("upload").addEventListener("change", () => {
    upload(byId("upload").files[0]);
    byId("upload").value = "";
  });
  byId("areas-clear").addEventListener("click", () => replace([]));
  byId("areas-between").addEventListener("click", () => byId("between").scrollIntoView());

  // --- list ---
  const row = (area, index, act) => {
    const name = el("input", {
      type: "text",
      maxlength: 100,
      "aria-label": `Name of area ${index + 1}`,
      change: () => {
        const named = { ...area, name: name.value.trim() || `Area ${index + 1}` };
        odanon.choose({ areas: state.areas.map((old, i) => (i === index ? named : old)) });
      },
    });
    name.value = area.name;
    const button = (words, label, press) =>
      el("button", { type: "button", "aria-label": `${label} ${area.name}`, click: press }, words);
    return el(
      "li",
      {},
      el("span", { class: "number", "aria-hidden": "true" }, String(index + 1)),
      name,
      button("Show", "Show", () => act.look([area])),
      ...(odanon.shapes.corners(area) ? [button("Edit", "Edit the outline of", () => act.edit(index))] : []),
      button("Remove", "Remove", () => remove(index)),
    );
  };
  const show = (act) => {
    byId("tab-areas").textContent = state.areas.length ? `My areas (${state.areas.length})` : "My areas";
    const empty = el(
      "p",
      { class: "empty" },
      "No areas yet. Draw two on the map, take published ones, or upload a GeoJSON or GeoPackage file: the trips between them appear below, with bounds.",
    );
    byId("area-list").replaceChildren(
      state.areas.length ? el("ol", { class: "areas" }, ...state.areas.map((area, i) => row(area, i, act))) : empty,
    );
    for (const id of ["areas-between", "areas-geojson", "areas-clear"]) byId(id).disabled = !state.areas.length;
  };

  // --- picture ---
  let placed = { of: null, plane: null, list: [] };
  const shapes = (plane) => {
    if (placed.of !== state.areas || placed.plane !== plane)
      placed = {
        of: state.areas,
        plane,
        list: state.areas.map((area) => {
          const rings = odanon.shapes.rings(area, plane);
          return { rings, box: odanon.boxOf(rings), ...odanon.centre(rings) };
        }),
      };
    return placed.list;
  };
  const trace = (pen, rings, view) => {
    pen.beginPath();
    for (const ring of rings) {
      for (let i = 0; i < ring.length; i += 2) {
        const [x, y] = [ring[i] * view.scale + view.x, ring[i + 1] * view.scale + view.y];
        if (i) pen.lineTo(x, y);
        else pen.moveTo(x, y);
      }
      pen.closePath();
    }
  };
  const label = (pen, text, x, y) => {
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = odanon.css("--paper");
    pen.strokeText(text, x, y);
    pen.fillStyle = odanon.css("--ink");
    pen.fillText(text, x, y);
  };
  const arrow = (pen, from, to, view) => {
    const [ax, ay, bx, by] = [from.x, from.y, to.x, to.y].map(
      (value, i) => value * view.scale + (i % 2 ? view.y : view.x),
    );
    const [cx, cy] = [(ax + bx) / 2 - (by - ay) * 0.16, (ay + by) / 2 + (bx - ax) * 0.16];
    const turn = Math.atan2(by - cy, bx - cx);
    for (const [colour, width] of [
      [odanon.css("--paper"), 6],
      [odanon.css("--mark"), 3],
    ]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      pen.moveTo(ax, ay);
      pen.quadraticCurveTo(cx, cy, bx, by);
      for (const side of [-0.45, 0.45]) {
        pen.moveTo(bx, by);
        pen.lineTo(bx - 13 * Math.cos(turn + side), by - 13 * Math.sin(turn + side));
      }
      pen.stroke();
    }
  };
  const paint = (pen, view, plane, hidden) => {
    const list = shapes(plane);
    const mark = odanon.css("--mark");
    list.forEach(({ rings }, i) => {
      if (i === hidden) return;
      trace(pen, rings, view);
      const chosen = state.pair && state.pair.includes(i);
      pen.strokeStyle = odanon.css("--paper");
      pen.lineWidth = chosen ? 5.5 : 4;
      pen.stroke();
      pen.strokeStyle = mark;
      pen.lineWidth = chosen ? 3 : 1.8;
      pen.stroke();
    });
    const [from, to] = state.pair || [];
    if (state.pair && from !== to && list[from] && list[to]) arrow(pen, list[from], list[to], view);
    if (list.length <= 60)
      list.forEach(({ x, y }, i) => label(pen, state.areas[i].name, x * view.scale + view.x, y * view.scale + view.y));
  };

  odanon.areas = { add, freeName, show, paint, shapes, look: () => {} };
})();
