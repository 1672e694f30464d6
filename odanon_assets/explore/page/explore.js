"use strict";
// The page as a whole: what is asked and drawn again when something else is chosen.
(() => {
  const { byId, el, state, when, count } = odanon;
  const fallback = [-1, -1, 1, 1];
  let product = null;
  let plane = odanon.plane(fallback);
  let basemap = null;
  let edited = -1; // the area whose corners are moved
  let tools = null;

  // What happened, below the map; mistakes are marked and are read out.
  odanon.say = (text, isMistake = false) => {
    byId("hint").classList.toggle("problem", isMistake);
    byId("hint").textContent = text;
  };

  const map = odanon.map(byId("map"), [], {
    view: plane.box,
    hover: (under, event) => product && odanon.published.data() && odanon.published.hover(map, under, event),
    pick: (under) => odanon.published.data() && odanon.published.pick(under),
    below: (paint, view, size) => {
      if (!basemap) return false;
      basemap(paint, plane, view, size);
      return true;
    },
    over: (paint, view) => {
      odanon.areas.paint(paint, view, plane, edited);
      if (tools) tools.paint(paint);
    },
    moved: () => keepView(),
  });
  let viewTimer = null;
  const keepView = () => {
    clearTimeout(viewTimer);
    viewTimer = setTimeout(() => {
      const { x, y, scale, size, untouched } = map.view();
      const [lon, lat] = plane.from((size.width / 2 - x) / scale, (size.height / 2 - y) / scale);
      state.view = untouched ? null : { lon, lat, scale };
      odanon.address.write();
    }, 250);
  };
  const restoreView = () => {
    if (!state.view) return;
    const { size } = map.view();
    const [x, y] = plane.to(state.view.lon, state.view.lat);
    const { scale } = state.view;
    map.look({ scale, x: size.width / 2 - x * scale, y: size.height / 2 - y * scale });
  };
  const lookAt = (areas) => {
    const rings = areas.flatMap((area) => odanon.shapes.rings(area, plane));
    if (!rings.length) return;
    const [left, top, right, bottom] = odanon.boxOf(rings);
    const { size } = map.view();
    const scale = 0.7 * Math.min(size.width / Math.max(200, right - left), size.height / Math.max(200, bottom - top));
    map.look({
      scale,
      x: size.width / 2 - (scale * (left + right)) / 2,
      y: size.height / 2 - (scale * (top + bottom)) / 2,
    });
  };
  odanon.areas.look = () => lookAt(state.areas);

  // --- drawing ---
  const press = (selector, name) =>
    document
      .querySelectorAll(`[data-${selector}]`)
      .forEach((button) => button.setAttribute("aria-pressed", button.dataset[selector] === name));
  const take = (zone) => {
    if (zone === undefined) {
      odanon.say("Nothing is published here.", true);
      return;
    }
    const { zones, nameOf } = odanon.published.data();
    const path = `api/products/${encodeURIComponent(state.product)}/zone?${new URLSearchParams({ id: zones[zone].id })}`;
    const show = (feature) => {
      odanon.areas.add([{ ...odanon.shapes.fromFeature(feature), name: nameOf(zone) }]);
      odanon.say(`${nameOf(zone)} is one of my areas now.`);
    };
    odanon.answer(byId("area-list"), byId("hint"), "Fetching the outline …", () => odanon.ask("zone", path), show);
  };
  tools = odanon.tools(map, {
    plane: () => plane,
    said: (text) => odanon.say(text),
    hover: (event) => odanon.published.data() && odanon.published.hover(map, map.under(event), event),
    take: (event) => odanon.published.data() && take(odanon.published.smallest(map.under(event))),
    drawn: (corners) => {
      const name = odanon.areas.freeName();
      odanon.areas.add([odanon.shapes.fromCorners(name, corners)]);
      odanon.say(
        `${name} is drawn.${state.areas.length < 2 ? " Draw another one to see the trips between the two." : ""}`,
      );
    },
    edited: (corners) => {
      const { name } = state.areas[edited];
      const index = edited;
      edited = -1;
      const areas = state.areas.map((area, i) => (i === index ? odanon.shapes.fromCorners(name, corners) : area));
      odanon.choose({ areas });
    },
    ended: () => {
      press("tool", null);
      for (const id of ["finish", "cancel"]) byId(id).hidden = true;
      odanon.say("");
      odanon.tip.hide();
    },
  });
  const begin = (name, corners) => {
    odanon.tip.hide();
    tools.begin(name, corners);
    press("tool", name);
    byId("finish").hidden = name === "rectangle";
    byId("finish").textContent = name === "zone" ? "Done" : "Finish";
    byId("cancel").hidden = name === "zone";
  };
  const areaActs = {
    look: lookAt,
    edit: (index) => {
      tools.end();
      edited = index;
      lookAt([state.areas[index]]);
      begin("edit", odanon.shapes.corners(state.areas[index]));
    },
  };

  // --- what is asked again ---
  const showFlows = () => {
    const asked = new URLSearchParams(when.question(state.b && state.which === "b" ? state.b : state.a));
    const path = `api/products/${encodeURIComponent(state.product)}/flows?${asked}`;
    odanon.answer(
      byId("map"),
      byId("panel-text"),
      "Adding up what is published …",
      () => odanon.ask("flows", path),
      (told) => {
        const data = odanon.published.load(told, odanon.readZones(told.zones, product.box), product.names);
        map.load(data.zones, data.flows.crowded() || plane.box);
        odanon.published.show(map);
      },
    );
  };
  const showChoices = () => {
    for (const name of ["side", "measure", "table"]) press(name, state[name]);
    byId("lines").value = String(state.lines);
    byId("reading").value = state.reading;
    byId("step").value = state.step;
    for (const name of ["published", "areas"]) {
      const chosen = state.panel === name;
      byId(name).hidden = !chosen;
      byId(`tab-${name}`).setAttribute("aria-selected", String(chosen));
      byId(`tab-${name}`).tabIndex = chosen ? 0 : -1;
    }
  };
  const isTime = (names) => ["a", "b", "days", "clock", "segment"].some((name) => names.has(name));
  odanon.onChoice((names) => {
    if (names.has("product")) {
      openProduct();
      return;
    }
    showChoices();
    if (isTime(names) || names.has("which")) {
      when.show();
      showFlows();
    } else if (["side", "zone", "measure", "lines", "table"].some((name) => names.has(name)))
      odanon.published.show(map);
    if (names.has("areas")) odanon.areas.show(areaActs);
    if (names.has("areas") || isTime(names) || names.has("reading")) odanon.matrix.show();
    if (names.has("pair")) odanon.matrix.mark();
    if (["areas", "pair", "fold", "step", "reading"].some((name) => names.has(name)) || isTime(names))
      odanon.profile.show();
    map.redraw();
  });

  // --- controls ---
  const onEach = (selector, kind, act) =>
    document.querySelectorAll(selector).forEach((node) => node.addEventListener(kind, () => act(node)));
  onEach("[data-side]", "click", (button) => odanon.choose({ side: button.dataset.side, zone: null }));
  onEach("[data-measure]", "click", (button) => odanon.choose({ measure: button.dataset.measure }));
  onEach("[data-table]", "click", (button) => odanon.choose({ table: button.dataset.table }));
  onEach("[data-panel]", "click", (button) => odanon.choose({ panel: button.dataset.panel }));
  onEach("[data-fold]", "click", (button) => odanon.choose({ fold: button.dataset.fold }));
  onEach("[data-tool]", "click", (button) =>
    tools.kind() === button.dataset.tool ? tools.end() : begin(button.dataset.tool),
  );
  onEach("#lines", "change", (list) => odanon.choose({ lines: Number(list.value) }));
  onEach("#reading", "change", (list) => odanon.choose({ reading: list.value }));
  onEach("#step", "change", (list) => odanon.choose({ step: list.value }));
  onEach("#clear", "click", () => odanon.choose({ zone: null }));
  onEach("#take", "click", () => take(odanon.published.data().indexOf.get(state.zone)));
  onEach("#turn", "click", () => odanon.choose({ pair: [...state.pair].reverse() }));
  onEach("#finish", "click", () => tools.finish());
  onEach("#cancel", "click", () => tools.end());
  onEach("#png", "click", () => odanon.save.map(map, product.title, `${when.inWords(state.a)}. ${product.citation}`));
  document.querySelector(".tabs").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    odanon.choose({ panel: state.panel === "areas" ? "published" : "areas" });
    byId(`tab-${state.panel}`).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !tools.kind() && state.zone !== null) odanon.choose({ zone: null });
  });
  onEach("#link", "click", async (button) => {
    const text = await odanon.address.whole();
    if (text.length > odanon.address.longest) {
      odanon.say("The areas are too large for a link; save them as GeoJSON and hand on the file.", true);
      return;
    }
    history.replaceState(null, "", text);
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Link copied";
    } catch {
      button.textContent = "Copy the address of this page";
    }
    setTimeout(() => (button.textContent = "Copy link to this view"), 3000);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    odanon.published.show(map);
    odanon.profile.redraw();
  });

  // --- start ---
  const showCatalogue = (list) => {
    byId("catalogue-part").hidden = list.length < 2;
    byId("catalogue").replaceChildren(
      ...list.map((each) =>
        el(
          "button",
          {
            type: "button",
            "data-product": each.name,
            click: () => odanon.choose({ product: each.name, a: null, b: null, which: "a", zone: null, view: null }),
          },
          el("strong", {}, each.title),
          el(
            "small",
            {},
            each.windows
              ? `${count(each.windows, "release", "releases")}, ${odanon.days.inWords(each.first)} – ${odanon.days.inWords(each.last)}`
              : "nothing published now",
          ),
        ),
      ),
    );
  };
  const units = { persons: "people", vehicles: "vehicles", trips: "trips" };
  const openProduct = () => {
    const path = `api/products/${encodeURIComponent(state.product)}`;
    odanon.answer(
      byId("map"),
      byId("byline"),
      "Opening …",
      () => odanon.ask("product", path),
      (told) => {
        product = told;
        plane = odanon.plane(product.box);
        document.title = `${product.title} – explore`;
        byId("title").textContent = product.title;
        const promise = `At least ${product.promise.k} ${units[product.promise.unit] || product.promise.unit} behind every number`;
        byId("byline").textContent = [promise, `local time of ${product.timezone}`, product.licence]
          .filter(Boolean)
          .join(" · ");
        byId("citation").textContent = product.citation;
        press("product", state.product);
        byId("reading").replaceChildren(...product.readings.map((name) => el("option", {}, name)));
        byId("reading-choice").hidden = product.readings.length < 3;
        when.load(product);
        when.show();
        showChoices();
        restoreView();
        odanon.areas.show(areaActs);
        showFlows();
        odanon.matrix.show();
        odanon.profile.show();
      },
    );
  };
  const start = async () => {
    const trouble = await odanon.address.read();
    if (trouble) odanon.say(trouble, true);
    showChoices();
    odanon.answer(
      byId("map"),
      byId("byline"),
      "Looking what is published …",
      () => odanon.ask("products", "api/products"),
      (told) => {
        if (told.basemap) {
          basemap = odanon.basemap(told.basemap, map.redraw);
          byId("foot").append(` Base map: ${told.basemap.attribution}.`);
        }
        showCatalogue(told.products);
        if (!told.products.length) {
          byId("title").textContent = "Nothing is published yet";
          return;
        }
        const known = told.products.some((each) => each.name === state.product);
        if (state.product && !known)
          odanon.say(`There is no product ${state.product} here; this is another one.`, true);
        if (!known) Object.assign(state, { product: told.products[0].name, a: null, b: null });
        openProduct();
      },
    );
  };
  window.addEventListener("hashchange", () => {
    if (!odanon.address.isOurs()) start();
  });
  start();
})();
