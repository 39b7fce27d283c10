// Conveniences: every page works without them.
"use strict";

const root = document.documentElement;
const find = (selector) => document.querySelector(selector);

// Colours: from the system, or chosen here.
const THEMES = { "": ["◐", "system"], light: ["☀", "light"], dark: ["☾", "dark"] };
const theme = find("#theme");

function showTheme() {
  const [sign, name] = THEMES[root.dataset.theme || ""];
  theme.textContent = sign;
  theme.setAttribute("aria-label", `Colours: ${name}`);
  theme.title = `Colours: ${name}`;
}

theme.hidden = false;
theme.addEventListener("click", () => {
  const order = Object.keys(THEMES);
  const next = order[(order.indexOf(root.dataset.theme || "") + 1) % order.length];
  if (next) {
    root.dataset.theme = next;
    localStorage.setItem("fivefold-theme", next);
  } else {
    delete root.dataset.theme;
    localStorage.removeItem("fivefold-theme");
  }
  showTheme();
});
showTheme();

// On a phone the tabs scroll sideways; the one of this page is in view.
const tab = find(".pages [aria-current]");
if (tab) {
  const tabs = find(".pages");
  const [own, all] = [tab.getBoundingClientRect(), tabs.getBoundingClientRect()];
  tabs.scrollLeft += own.left - all.left - (all.width - own.width) / 2;
}

// In a form with data-submits, a choice submits the form.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-submits]");
  if (form) form.requestSubmit();
});

// Keyboard.
const keys = find("#keys");
const keysOn = find("#keys-on");
const showKeys = find("#show-keys");
keysOn.checked = localStorage.getItem("fivefold-keys") !== "off";
keysOn.addEventListener("change", () => localStorage.setItem("fivefold-keys", keysOn.checked ? "on" : "off"));
if (showKeys) {
  showKeys.hidden = false;
  showKeys.addEventListener("click", () => keys.showModal());
}

function walk(step) {
  const cards = [...document.querySelectorAll("[data-card]")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[at < 0 ? (step > 0 ? 0 : cards.length - 1) : at + step];
  if (next) {
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
}

// How its score comes about, or the whole of a long text.
function detailsOf(card) {
  return card.querySelector("details.sums") || card.querySelector("details");
}

function open() {
  const card = document.activeElement.closest("[data-card]");
  const details = card && (card.matches("details") ? card : detailsOf(card));
  if (details) details.open = !details.open;
}

// A click on a card opens it, unless the click is on a control or selects text.
document.addEventListener("click", (event) => {
  const card = event.target.closest("article[data-card]");
  const details = card && detailsOf(card);
  const elsewhere = event.target.closest("a, button, input, label, form, details") || !getSelection().isCollapsed;
  if (details && !elsewhere) details.open = !details.open;
});

const SHORTCUTS = {
  "/": () => find("[data-question]")?.focus(),
  j: () => walk(1),
  k: () => walk(-1),
  o: open,
  "?": () => keys.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("[data-card]")) open();
  const typing = event.target.closest("input, textarea, select, [contenteditable], dialog[open]");
  const act = SHORTCUTS[event.key];
  if (!act || !keysOn.checked || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});

// Pages with an error status are shown too.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.status === 422 || xhr.status === 404 || xhr.status === 403) event.detail.shouldSwap = true;
});

// A request that fails shows a message, and the next response hides it.
const failed = find("#failed");

function fail(text) {
  failed.textContent = text;
  failed.hidden = !text;
}

document.addEventListener("htmx:sendError", () => fail("The server does not answer. Is it still running?"));
document.addEventListener("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  if (status === 429) fail("Too many requests; wait a moment and try again.");
  else if (status >= 500) fail("Something went wrong in the server; see its log.");
});
document.addEventListener("htmx:afterSwap", () => fail(""));

// A slider shows its value while it moves.
document.addEventListener("input", (event) => {
  const output = event.target.type === "range" && document.getElementById(`${event.target.id}-value`);
  if (output) output.textContent = event.target.value;
});
