// Conveniences for lists and forms: the pages work without them.
"use strict";

// A confirmation shows once: the address that one shares or reloads does not contain it.
const here = new URL(location.href);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(history.state, "", here);
}

// After "Show more" the focus goes to the first new card.
document.addEventListener("htmx:load", (event) => {
  const card = event.target.matches("#memory-list > li") && event.target.querySelector("[data-card]");
  if (card && document.activeElement === document.body) card.focus({ preventScroll: true });
});
