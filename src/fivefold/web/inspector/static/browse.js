// Comforts of the pages that browse; they work without them.
"use strict";

// What was just done is said once: an address that is shared or loaded again says it no more.
const here = new URL(location.href);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(history.state, "", here);
}

// The button "Show more" makes way for what it brought, and the keyboard goes on from there.
document.addEventListener("htmx:load", (event) => {
  const card = event.target.matches("#found > li") && event.target.querySelector("[data-card]");
  if (card && document.activeElement === document.body) card.focus({ preventScroll: true });
});
