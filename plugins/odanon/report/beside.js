"use strict";
// A link to the explorer, where whoever led here says in the address where that is. The page itself has no address of anything in it, since it
// is sealed with its release; and of what it is told it believes places on its own site alone.
(() => {
  const { el, byId } = odanon;
  const told = new URLSearchParams(location.hash.slice(1)).get("explore");
  if (!told || !location.protocol.startsWith("http") || !URL.canParse(told, location.href)) return;
  const address = new URL(told, location.href);
  if (address.origin !== location.origin) return;
  const { release } = JSON.parse(byId("data").textContent);
  address.hash = new URLSearchParams({ product: release.product });
  const link = el("a", { id: "beside", href: address.href }, "Explore all that is published of this product");
  document.querySelector("header").append(el("p", { class: "byline" }, link));
})();
