"use strict";

const form = document.getElementById("form");
const show = document.getElementById("show");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  const refusal = document.getElementById("refusal");
  const given = Object.fromEntries(new FormData(form));
  button.disabled = true;
  refusal.textContent = "";
  const answer = await fetch("/api/password", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(given),
  }).catch(() => null);
  if (answer?.status === 401) {
    location.replace("/login?after=/password");
    return;
  }
  button.disabled = false;
  if (answer?.ok) {
    form.hidden = true;
    document.getElementById("state").textContent = "Password changed. You are signed out everywhere else.";
    return;
  }
  const told = await answer?.json().catch(() => ({}));
  refusal.textContent = told?.detail ? `${told.detail} ${told.hint ?? ""}` : "The daemon does not answer.";
});

show.addEventListener("change", () => {
  for (const field of form.querySelectorAll("[name]")) field.type = show.checked ? "text" : "password";
});
