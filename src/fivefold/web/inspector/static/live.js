// Live: events of the server are added at the top as they come. Without this script the page shows the latest ones.
"use strict";

const MOST = 100;
const list = document.querySelector("#live");
const state = document.querySelector("#live-state");
const pause = document.querySelector("#live-pause");
let source, after = list.dataset.after;

function show(event) {
  after = event.lastEventId;
  list.insertAdjacentHTML("afterbegin", event.data);
  while (list.children.length > MOST) list.lastElementChild.remove();
  document.querySelector("#live-empty").hidden = true;
}

function connect() {
  const address = new URL(list.dataset.events, location.href);
  address.searchParams.set("after", after);
  source = new EventSource(address);
  source.addEventListener("open", () => (state.textContent = "Connected"));
  source.addEventListener("message", show);
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) state.textContent = "Not connected; reload the page";
    else setTimeout(() => source.readyState === EventSource.CONNECTING && (state.textContent = "Connecting…"), 3000);
  });
}

pause.hidden = false;
pause.addEventListener("click", () => {
  const paused = pause.getAttribute("aria-pressed") === "false";
  pause.setAttribute("aria-pressed", String(paused));
  if (paused) {
    source.close();
    state.textContent = "Paused";
  } else connect();
});
addEventListener("pagehide", () => source.close());
connect();
