"use strict";

const form = document.getElementById("form");
const state = document.getElementById("state");
const password = document.getElementById("password");
const show = document.getElementById("show");
const otherwise = document.getElementById("otherwise");
let invitation = "";

async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }).catch(() => null);
  const told = await answer?.json().catch(() => ({}));
  if (answer?.ok) return told;
  throw new Error(told?.detail ? `${told.detail} ${told.hint ?? ""}` : "The daemon does not answer.");
}

function refuse(said) {
  state.textContent = said;
  form.hidden = true;
  otherwise.hidden = false;
}

// The secret stands behind the #, which a browser sends to nobody; it goes into requests, and out of the history.
async function open() {
  if (!location.hash && invitation) return;
  invitation = location.hash.slice(1);
  history.replaceState(null, "", "/invitation");
  if (!isSecureContext) {
    // Browsers treat pages loaded over https, or from this machine, as secure.
    refuse("Open the link at this server's https:// address. This page is not encrypted.");
    return;
  }
  try {
    const { email } = await ask("/api/invitation", { invitation });
    state.textContent = `You have been invited to OpenAgent at ${location.host}.`;
    document.getElementById("email").value = email;
    otherwise.hidden = true;
    form.hidden = false;
    password.focus();
  } catch (problem) {
    refuse(problem.message);
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  const refusal = document.getElementById("refusal");
  button.disabled = true;
  refusal.textContent = "";
  try {
    const { after } = await ask("/api/invitation/password", { invitation, password: password.value });
    location.replace(after);
  } catch (problem) {
    button.disabled = false;
    refusal.textContent = problem.message;
  }
});

show.addEventListener("change", () => {
  password.type = show.checked ? "text" : "password";
});

open();
// A link pasted into this same tab changes nothing but what stands behind the #, and loads no page.
addEventListener("hashchange", open);
