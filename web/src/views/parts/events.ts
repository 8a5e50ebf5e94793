/** The event stream, newest first. */
import type { EventItem, LiveStatus } from "../../contract/live_status.gen";
import * as say from "../../state/say";
import { joined, keyed, place } from "../../state/words";
import { html, nothing, repeat } from "../html";
import type { Template } from "../html";
import { mark } from "./mark";
import { more, name, when } from "./text";

export function eventList(status: LiveStatus, now: number): Template {
  const { events, notices = [] } = status;
  const isUnseen = !events || notices.some(({ code }) => code === "events_unavailable");
  if (isUnseen) return html`<p class="none">${mark("unknown")}<span>${say.eventsUnseen}</span></p>`;
  if (events.length === 0) return html`<p class="none">${say.noEvents}</p>`;
  return html`<ol class="rows events" data-list="events">
      ${repeat(keyed(events, eventKey), ([key]) => key, ([key, event]) => row(key, event, now))}
    </ol>${more(status.truncated.events)}`;
}

function eventKey({ at, kind, task, agent, message }: EventItem): string {
  return JSON.stringify([at, kind, task, agent, message]);
}

function row(key: string, event: EventItem, now: number): Template {
  const level = event.level === "error" ? "broken" : event.level === "warn" ? "wait" : "pending";
  return html`<li data-key=${key} class="is-${level}">
    <span class="age">${when(event.at, now)}</span>
    ${mark(level)}
    <span class="what">${event.task ? html`${name(event.task, "strong")} ` : nothing}<bdi title=${event.message}>${event.message}</bdi></span>
    <span class="kind">${joined(" · ", say.word(event.kind), place(" · ", event.wave, event.task_number))}</span>
  </li>`;
}
