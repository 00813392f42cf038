// The little that pages cannot do by themselves: parts that stay up to date, an upload with progress, figures as PNG,
// buttons that copy.
"use strict";

const SECONDS_BETWEEN_LOOKS = 1.5;
const SECONDS_TO_FIRST_LOOK = 0.3; // of a part that has said so far only that it is being asked for
const PNG_SCALE = 3; // dots of a picture for each of the screen's: about 300 in an inch

// A part of a page that the app renders anew: data-live is its address, data-every how often, in seconds. What it shows may send the page on:
// data-goto, for instance when the work is over that it tells of. data-soon: it is rendered anew at once.
async function keepUpToDate(part) {
  const lost = document.getElementById("lost");
  const every = Number(part.dataset.every) || SECONDS_BETWEEN_LOOKS;
  let seconds = part.hasAttribute("data-soon") ? SECONDS_TO_FIRST_LOOK : every;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    seconds = every;
    if (document.hidden) continue;
    let answer, text;
    try {
      answer = await fetch(part.dataset.live, { credentials: "same-origin", redirect: "error" });
      text = await answer.text();
    } catch {
      lost.hidden = false;
      continue;
    }
    lost.hidden = true;
    if (!answer.ok) {
      replaceMain(text);
      return;
    }
    // What is being pressed stays until it is let go of: a button that is another one by then is not clicked.
    if (text === part.dataset.shown || part.matches(":active")) continue;
    part.dataset.shown = text;
    const opened = [...part.querySelectorAll("details[open]")].map((one) => one.id);
    const at = document.activeElement;
    const same = (one) => one.textContent === at.textContent;
    const isInside = part.contains(at);
    part.innerHTML = text;
    for (const copied of part.querySelectorAll("[data-copy]")) offerCopy(copied);
    // Whoever is at a link or a button with the keyboard stays there.
    if (isInside) [...part.querySelectorAll(at.tagName)].find(same)?.focus({ preventScroll: true });
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    const next = part.querySelector("[data-goto]");
    if (next) {
      location.replace(next.dataset.goto);
      return;
    }
  }
}

// What went wrong is a page like any other: its content takes this one's place.
function replaceMain(text) {
  const found = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const main = document.querySelector("main");
  main.replaceChildren(...(found ? found.children : []));
  main.focus();
}

function send(form, file) {
  const bar = form.querySelector("progress");
  const said = form.querySelector("[data-said]");
  const fields = new FormData(form);
  fields.delete("file");
  fields.append("file", file, file.name);
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.upload.addEventListener("progress", (event) => {
    bar.max = event.total;
    bar.value = event.loaded;
    said.textContent = `Uploading ${file.name}: ${Math.floor((100 * event.loaded) / event.total)} %`;
  });
  request.addEventListener("load", () => {
    if (request.status < 400) location.assign(request.responseURL);
    else replaceMain(request.responseText);
  });
  request.addEventListener("error", () => {
    said.textContent = "The app is not responding. Is it still running in its terminal? Nothing of this file was kept.";
    bar.hidden = true;
  });
  bar.hidden = false;
  request.send(fields);
}

function chooseByDropping(form) {
  const input = form.querySelector("input[type=file]");
  const said = form.querySelector("[data-said]");
  const take = (file) => {
    if (file.size > Number(form.dataset.mostBytes)) said.textContent = form.dataset.tooLarge;
    else if (file.size === 0) said.textContent = `${file.name} is empty, or is a folder.`;
    else send(form, file);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.files.length === 1) take(input.files[0]);
  });
  input.addEventListener("change", () => {
    if (input.files.length === 1) take(input.files[0]);
  });
  const over = (event) => {
    event.preventDefault();
    form.classList.toggle("drop--over", event.type === "dragover");
  };
  form.addEventListener("dragover", over);
  form.addEventListener("dragleave", over);
  form.addEventListener("drop", (event) => {
    over(event);
    const files = event.dataTransfer.files;
    if (files.length === 1) take(files[0]);
    else said.textContent = form.dataset.one;
  });
  // A file that misses the form must not take the page's place.
  for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());
  form.dataset.ready = "";
}

// A figure as PNG: what the link before it saves as SVG, painted larger.
function offerPng(link) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button--link";
  button.innerHTML = link.innerHTML.replace("SVG", "PNG");
  button.addEventListener("click", async () => {
    const image = new Image();
    image.src = link.href;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = PNG_SCALE * image.naturalWidth;
    canvas.height = PNG_SCALE * image.naturalHeight;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const saved = document.createElement("a");
    saved.href = canvas.toDataURL("image/png");
    saved.download = link.download.replace(/svg$/, "png");
    saved.click();
  });
  link.after(button);
}

// A button that copies what is before it, and says so: data-copy says what that is. It writes to the clipboard when it
// is clicked, and never reads it. Where it may not, it selects the text, for the keys that copy.
function offerCopy(copied) {
  const button = document.createElement("button");
  const said = document.createElement("span");
  const what = document.createElement("span");
  button.type = "button";
  button.className = "copy";
  what.className = "visually-hidden";
  what.textContent = ` ${copied.dataset.copy}`;
  button.append("Copy", what);
  said.className = "copy__said";
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(copied.innerText.trim());
      said.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(copied);
      said.textContent = "Selected: copy it with Ctrl+C or ⌘C";
    }
  });
  copied.after(button, said);
}

for (const link of document.querySelectorAll(".figure__save a")) offerPng(link);
for (const copied of document.querySelectorAll("[data-copy]")) offerCopy(copied);
for (const part of document.querySelectorAll("[data-live]")) keepUpToDate(part);
for (const form of document.querySelectorAll("form[data-upload]")) chooseByDropping(form);
for (const form of document.querySelectorAll("form:not([data-upload])")) {
  form.addEventListener("submit", () => {
    // Behind the event, so that the button's own value is sent.
    setTimeout(() => form.querySelectorAll("button").forEach((button) => (button.disabled = true)));
  });
}
// A page that comes back from the browser's memory has its buttons again.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("button").forEach((button) => (button.disabled = false));
});
