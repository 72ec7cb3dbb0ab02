"use strict";

const form = document.getElementById("form");
const code = document.getElementById("code");
const state = document.getElementById("state");

function goAndLogIn() {
  const after = `/device?code=${encodeURIComponent(code.value)}`;
  location.replace(`/login?after=${encodeURIComponent(after)}`);
}

async function problemOf(answer) {
  const told = await answer.json().catch(() => ({}));
  return told.detail || "The daemon did not answer as it should.";
}

async function show() {
  const asked = await fetch(`/api/device?code=${encodeURIComponent(code.value)}`);
  if (asked.status === 401) return goAndLogIn();
  if (!code.value) return;
  state.textContent = asked.ok
    ? `${(await asked.json()).client} asks to act as you. Go on only if you have just asked for it yourself.`
    : await problemOf(asked);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const allow = event.submitter?.value !== "no";
  const answer = await fetch("/api/device", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code: code.value, allow }),
  });
  if (answer.status === 401) return goAndLogIn();
  if (!answer.ok) {
    state.textContent = await problemOf(answer);
    return;
  }
  form.replaceChildren(state);
  state.textContent = allow ? "It is let in. You can close this page." : "It is refused. You can close this page.";
});

code.value = new URLSearchParams(location.search).get("code") ?? "";
show();
