"use strict";
// The page as a whole: what is asked and drawn again when something else is chosen.
(() => {
  const { byId, el, state, when, count } = odanon;
  let product = null;
  const { map, tools, press, begin, take, areaActs } = odanon.ground;

  // --- what is asked again ---
  const showFlows = () => {
    const asked = new URLSearchParams(when.question(when.shown()));
    const path = `api/products/${encodeURIComponent(state.product)}/flows?${asked}`;
    odanon.answer(
      byId("map"),
      byId("panel-text"),
      "Adding up what is published …",
      () => odanon.ask("flows", path),
      (told) => {
        const data = odanon.published.load(told, odanon.readZones(told.zones, product.box));
        odanon.names.load(data);
        map.load(data.zones, data.flows.crowded());
        odanon.published.show(map);
      },
      () => {
        odanon.names.load({ zones: [] });
        odanon.published.clear(map);
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
  // Whether areas have other names only since this was asked last.
  let shapes = [];
  const haveSameShapes = () => {
    const before = shapes;
    shapes = state.areas.map((area) => area.polygons);
    return before.length === shapes.length && before.every((polygons, i) => polygons === shapes[i]);
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
    if (names.has("areas")) {
      if (tools.kind() === "edit") tools.end();
      odanon.areas.show(areaActs);
    }
    const renamed = names.has("areas") && haveSameShapes();
    if (renamed) odanon.matrix.rename();
    if ((names.has("areas") && !renamed) || isTime(names) || names.has("reading")) odanon.matrix.show();
    if (names.has("pair")) odanon.matrix.mark();
    if (renamed) odanon.profile.rename();
    else if (["areas", "pair", "fold", "step", "reading"].some((name) => names.has(name)) || isTime(names))
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
  onEach("#png", "click", () =>
    odanon.save.map(map, product.title, `${when.inWords(when.shown())}. ${product.citation}`),
  );
  document.querySelector(".tabs").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    odanon.choose({ panel: state.panel === "areas" ? "published" : "areas" });
    byId(`tab-${state.panel}`).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (tools.kind()) tools.end();
    else if (state.zone !== null) odanon.choose({ zone: null });
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
        odanon.ground.open(product.box);
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
        if (told.basemap) odanon.ground.lay(told.basemap);
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
