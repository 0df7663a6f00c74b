"use strict";(self.rspackChunkexploracoder_jupyter=self.rspackChunkexploracoder_jupyter||[]).push([[818],{33(r,o,e){var p=e(601),a=e.n(p),t=e(314),l=(e.n(t))()(a());l.push([r.id,`/*
 * Cells are measured repeatedly while they are inserted. Outputs that are not rendered yet or are scrolled out of view are
 * skipped.
 */
.jp-Explora-cell .jp-OutputArea-child {
  content-visibility: auto;
  contain-intrinsic-size: auto 1px auto 200px;
}

.jp-Explora-badge {
  margin: 0 0 2px var(--jp-cell-collapser-width);
  padding-inline: 8px;
  border-inline-start: 3px solid var(--jp-border-color1);
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.6;
}

.jp-Explora-badge-line {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 2px 10px;
}

.jp-Explora-badge-detail {
  color: var(--jp-ui-font-color2);
}

.jp-Explora-badge-button {
  padding: 0 6px;
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
  cursor: pointer;
}

.jp-Explora-badge-button:hover {
  background: var(--jp-layout-color2);
}

.jp-Explora-badge-button:focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}

.jp-Explora-badge-button[aria-disabled='true'] {
  color: var(--jp-ui-font-color2);
  cursor: default;
}

.jp-Explora-badge-why {
  margin: 2px 0;
  padding-inline-start: 20px;
  max-width: 80ch;
}

@media (forced-colors: active) {
  .jp-Explora-badge-button {
    border-color: ButtonText;
  }
}

@media (prefers-reduced-motion: no-preference) {
  .jp-Explora-badge-button {
    transition: background-color 0.1s;
  }
}
`,""]),e.d(o,{},{A:l})},734(r,o,e){var p=e(601),a=e.n(p),t=e(314),l=(e.n(t))()(a());l.push([r.id,`/* The forms of the sidebar. Colors come from the theme only. */

.jp-Explora-entryBar {
  flex: none;
  display: flex;
  align-items: center;
  justify-content: space-between;
  gap: 6px;
  padding: 6px 12px 0;
}

.jp-Explora-entryForm {
  margin-top: 8px;
}

.jp-Explora-field {
  position: relative;
  flex: 1 1 100px;
  min-width: 0;
  margin-bottom: 8px;
}

.jp-Explora-field > label {
  display: block;
  margin-bottom: 2px;
  font-weight: 600;
}

.jp-Explora-fieldRow {
  display: flex;
  flex-wrap: wrap;
  gap: 0 8px;
}

.jp-Explora-field > .jp-Explora-select {
  box-sizing: border-box;
  width: 100%;
  min-height: 28px;
}

.jp-Explora-input.jp-mod-code {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.jp-Explora-input[aria-invalid='true'] {
  border-color: var(--jp-error-color1, currentcolor);
  box-shadow: inset 0 0 0 1px var(--jp-error-color1, currentcolor);
}

/* A bar, not the color of the text: the theme's error color is too pale for text. */
.jp-Explora-sidebar .jp-Explora-problem {
  margin: 4px 0 0;
  padding-left: 8px;
  border-left: 3px solid var(--jp-error-color1, currentcolor);
  overflow-wrap: anywhere;
}

.jp-Explora-combobox {
  position: relative;
}

.jp-Explora-sidebar .jp-Explora-options {
  position: absolute;
  z-index: 2;
  right: 0;
  left: 0;
  margin-top: 2px;
  padding: 2px 0;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  box-shadow: var(--jp-elevation-z4);
}

.jp-Explora-options > li {
  padding: 3px 8px;
  overflow-wrap: anywhere;
  cursor: pointer;
}

.jp-Explora-options > li:is(:hover, .jp-mod-active) {
  background: var(--jp-layout-color2);
}

.jp-Explora-options > li.jp-mod-active {
  box-shadow: inset 3px 0 0 var(--jp-brand-color1, currentcolor);
}

.jp-Explora-sidebar .jp-Explora-diff {
  max-height: 320px;
  overflow: auto;
  padding: 4px 0;
  border: var(--jp-border-width) solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color0);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.jp-Explora-diff > li {
  padding: 0 8px 0 4px;
  border-left: 3px solid transparent;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}

.jp-Explora-diff > li > span[aria-hidden] {
  display: inline-block;
  width: 1.2em;
}

.jp-Explora-diff > .jp-mod-added {
  border-left-color: var(--jp-success-color1, currentcolor);
  font-weight: 600;
}

.jp-Explora-diff > .jp-mod-removed {
  border-left-color: var(--jp-error-color1, currentcolor);
}

.jp-Explora-diff > .jp-mod-removed {
  text-decoration: line-through;
}

.jp-Explora-gear {
  margin-left: auto;
  padding: 2px 4px;
  line-height: 0;
}

.jp-Explora-gear svg {
  width: 16px;
  height: 16px;
}
`,""]),e.d(o,{},{A:l})},938(r,o,e){var p=e(601),a=e.n(p),t=e(314),l=(e.n(t))()(a());l.push([r.id,`/* The sidebar. Colors come from the theme only, and nothing depends on color alone. */

.jp-Explora-sidebar {
  min-width: 180px;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.4;
}

.jp-Explora-sidebar.lm-Widget {
  overflow: hidden;
}

.jp-Explora-stroke {
  fill: none;
  stroke: var(--jp-inverse-layout-color3);
}

.jp-Explora-content {
  display: flex;
  flex-direction: column;
  height: 100%;
  container-type: inline-size;
}

.jp-Explora-scroll {
  flex: 1 1 auto;
  min-height: 0;
  overflow: hidden auto;
  padding: 8px 12px 16px;
}

.jp-Explora-top {
  flex: none;
  max-height: 60%;
  overflow: hidden auto;
  padding: 8px 12px;
  border-bottom: var(--jp-border-width) solid var(--jp-border-color1);
}

.jp-Explora-sidebar :where(p, ul, ol, dl, dd, h2, h3, pre) {
  margin: 0;
  padding: 0;
}

.jp-Explora-sidebar :where(ul, ol) {
  list-style: none;
}

.jp-Explora-sidebar :where(h2, h3, summary) {
  margin: 12px 0 4px;
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}

.jp-Explora-sidebar summary {
  cursor: pointer;
}

.jp-Explora-unseen,
.jp-Explora-facts.jp-mod-line dt {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

.jp-Explora-sidebar
  :is(
    button,
    input,
    select,
    textarea,
    summary,
    [role='treeitem']
  ):focus-visible {
  outline: var(--jp-focus-outline-width, 2px) solid
    var(--jp-focus-outline-color, var(--jp-brand-color1));
  outline-offset: -1px;
}

/* ---- status labels */

.jp-Explora-sign,
.jp-Explora-chevron {
  flex: none;
  width: 14px;
  height: 14px;
  fill: none;
  stroke: currentcolor;
  stroke-width: 1.8;
  stroke-linecap: round;
  stroke-linejoin: round;
}

.jp-Explora-sign {
  color: var(--jp-ui-font-color1);
}

.jp-Explora-sign.jp-mod-good {
  color: var(--jp-success-color1, currentcolor);
}

.jp-Explora-sign.jp-mod-bad {
  color: var(--jp-error-color1, currentcolor);
}

.jp-Explora-sign.jp-mod-busy,
.jp-Explora-sign.jp-mod-asking {
  color: var(--jp-brand-color1, currentcolor);
}

.jp-Explora-sign.jp-mod-busy {
  animation: jp-explora-turn 1.2s linear infinite;
}

@keyframes jp-explora-turn {
  to {
    transform: rotate(1turn);
  }
}

@media (prefers-reduced-motion: reduce) {
  .jp-Explora-sign.jp-mod-busy {
    animation: none;
  }
}

.jp-Explora-status {
  display: flex;
  align-items: baseline;
  gap: 6px;
}

.jp-Explora-status > .jp-Explora-sign {
  align-self: flex-start;
  margin-top: 2px;
}

.jp-Explora-elapsed {
  margin-left: auto;
  font-variant-numeric: tabular-nums;
}

.jp-Explora-activity {
  margin-top: 6px;
  overflow-wrap: anywhere;
}

.jp-Explora-activity.jp-mod-failed {
  padding: 6px 8px;
  border: var(--jp-border-width) solid var(--jp-error-color1, currentcolor);
  border-left-width: 4px;
  background: var(--jp-rendermime-error-background, transparent);
}

.jp-Explora-task {
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}

.jp-Explora-note {
  font-size: 0.9em;
  overflow-wrap: anywhere;
}

.jp-Explora-banner {
  flex: none;
  margin-bottom: 6px;
  padding: 6px 12px;
  border-left: 3px solid var(--jp-warn-color1);
  background: var(--jp-layout-color2);
}

.jp-Explora-top .jp-Explora-banner,
.jp-Explora-scroll .jp-Explora-banner {
  padding: 4px 8px;
}

.jp-Explora-going {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 8px;
}

.jp-Explora-select {
  flex: 1 1 120px;
  min-width: 0;
  min-height: 24px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
}

.jp-Explora-notices li {
  margin: 4px 0;
  padding-left: 8px;
  border-left: 2px solid var(--jp-border-color1);
  overflow-wrap: anywhere;
}

/* ---- numbers */

.jp-Explora-task > p {
  display: inline;
}

.jp-Explora-links {
  display: inline-flex;
  flex-wrap: wrap;
  gap: 0 12px;
  margin-left: 12px;
}

.jp-Explora-facts > div {
  display: flex;
  gap: 8px;
  padding: 1px 0;
}

.jp-Explora-facts dt {
  flex: 0 0 64px;
}

.jp-Explora-facts dd {
  min-width: 0;
  font-weight: 500;
  overflow-wrap: anywhere;
}

.jp-Explora-facts.jp-mod-line {
  margin: 4px 0;
}

.jp-Explora-facts.jp-mod-line > div {
  display: inline;
}

.jp-Explora-facts.jp-mod-line > div:not(:last-child)::after {
  content: ' \xb7 ' / ' ';
}

.jp-Explora-facts.jp-mod-line dd {
  display: inline;
}

.jp-Explora-budgets {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 12px;
}

.jp-Explora-budget {
  flex: 1 1 auto;
  white-space: nowrap;
}

.jp-Explora-bar {
  height: 6px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: 4px;
  overflow: hidden;
}

.jp-Explora-bar > div {
  height: 100%;
  background: var(--jp-brand-color1, currentcolor);
}

.jp-Explora-bar > .jp-mod-nearlySpent {
  background: var(--jp-warn-color1);
}

@media (forced-colors: active) {
  .jp-Explora-bar > div {
    background: Highlight;
  }

  .jp-Explora-item.jp-mod-active > .jp-Explora-row {
    outline: 1px solid Highlight;
  }
}

/* ---- controls */

.jp-Explora-buttons {
  display: flex;
  flex-wrap: wrap;
  gap: 6px;
  margin-top: 6px;
}

.jp-Explora-button {
  min-height: 24px;
  padding: 2px 8px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
  cursor: pointer;
}

.jp-Explora-top .jp-Explora-buttons {
  gap: 4px;
}

.jp-Explora-top .jp-Explora-button {
  padding: 2px 5px;
  font-size: 0.9em;
}

.jp-Explora-button:hover:not(:disabled, [aria-disabled='true']) {
  background: var(--jp-layout-color2);
}

.jp-Explora-button.jp-mod-primary {
  border-color: var(--jp-brand-color1, currentcolor);
  box-shadow: inset 0 0 0 1px var(--jp-brand-color1, currentcolor);
  font-weight: 600;
}

.jp-Explora-button.jp-mod-warn {
  border-color: var(--jp-error-color1, currentcolor);
  box-shadow: inset 0 0 0 1px var(--jp-error-color1, currentcolor);
  font-weight: 600;
}

.jp-Explora-button:disabled,
.jp-Explora-button[aria-disabled='true'] {
  border-style: dashed;
  box-shadow: none;
  font-weight: normal;
  opacity: 0.75;
  cursor: default;
}

.jp-Explora-button.jp-mod-small {
  min-width: 24px;
  padding: 0 4px;
}

.jp-Explora-link {
  min-height: 24px;
  padding: 0;
  border: none;
  background: none;
  color: var(--jp-content-link-color);
  font: inherit;
  text-align: left;
  text-decoration: underline;
  overflow-wrap: anywhere;
  cursor: pointer;
}

.jp-Explora-link[aria-disabled='true'] {
  color: inherit;
  text-decoration: none;
  cursor: default;
}

.jp-Explora-form {
  flex: 1 1 100%;
  margin: 6px 0;
  padding: 8px;
  border: var(--jp-border-width) solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
}

.jp-Explora-check {
  display: flex;
  align-items: center;
  gap: 6px;
}

.jp-Explora-input {
  box-sizing: border-box;
  width: 100%;
  padding: 4px 6px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color0);
  color: var(--jp-ui-font-color0);
  font: inherit;
  resize: vertical;
}

@supports (field-sizing: content) {
  textarea.jp-Explora-input {
    field-sizing: content;
    min-height: 3em;
  }
}

.jp-Explora-sidebar :where(p, span, li) > code {
  font-family: var(--jp-code-font-family);
  font-size: 0.95em;
}

.jp-Explora-input::placeholder {
  color: var(--jp-ui-font-color1);
  opacity: 0.75;
}

.jp-Explora-reply {
  flex: none;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 8px;
  max-height: 40%;
  overflow: auto;
  padding: 8px 12px;
  border-top: var(--jp-border-width) solid var(--jp-border-color1);
  border-left: 3px solid var(--jp-brand-color1, currentcolor);
  background: var(--jp-layout-color1);
  overflow-wrap: anywhere;
}

.jp-Explora-reply.jp-mod-problem {
  border-left-color: var(--jp-error-color1, currentcolor);
}

.jp-Explora-reply:empty {
  padding: 0;
  border: none;
}

.jp-Explora-reply > span {
  flex: 1 1 120px;
}

/* ---- the plan */

.jp-Explora-planHead {
  display: flex;
  align-items: baseline;
  justify-content: space-between;
  gap: 8px;
  margin-top: 8px;
}

.jp-Explora-tree {
  margin: 0 -8px;
}

.jp-Explora-item {
  border-radius: var(--jp-border-radius);
}

.jp-Explora-item.jp-mod-active {
  background: var(--jp-layout-color2);
}

.jp-Explora-row {
  display: flex;
  align-items: flex-start;
  padding: 3px 8px 3px 2px;
  cursor: pointer;
}

.jp-Explora-row:hover {
  background: var(--jp-layout-color2);
}

.jp-Explora-item[aria-level='2'] {
  padding-left: 12px;
}

.jp-Explora-item[aria-level='3'] {
  padding-left: 26px;
}

.jp-Explora-fold {
  flex: none;
  width: 18px;
  height: 20px;
  display: flex;
  align-items: center;
  justify-content: center;
}

.jp-Explora-label {
  flex: 1 1 auto;
  min-width: 0;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0 6px;
}

.jp-mod-subtask > .jp-Explora-row .jp-Explora-label {
  display: grid;
  grid-template-columns: 14px 1fr;
  align-items: baseline;
}

.jp-mod-subtask .jp-Explora-sign {
  align-self: start;
  margin-top: 3px;
}

.jp-Explora-title {
  overflow-wrap: anywhere;
}

.jp-mod-subtask .jp-Explora-note {
  grid-column: 2;
}

.jp-Explora-name {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-ui-font-size1);
  overflow-wrap: anywhere;
}

.jp-Explora-chip {
  padding: 0 5px;
  border: var(--jp-border-width) solid var(--jp-success-color1, currentcolor);
  border-radius: 8px;
  font-size: 0.9em;
}

.jp-Explora-seconds {
  margin-left: auto;
  font-size: 0.9em;
  font-variant-numeric: tabular-nums;
}

.jp-Explora-line {
  flex: 1 1 100%;
  min-width: 0;
  font-family: var(--jp-code-font-family);
  font-size: 0.9em;
  white-space: nowrap;
  overflow: hidden;
  text-overflow: ellipsis;
}

.jp-Explora-item.jp-mod-active .jp-Explora-line {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}

.jp-mod-candidate .jp-Explora-note {
  flex: 0 1 auto;
}

.jp-mod-more .jp-Explora-label {
  text-decoration: underline;
}

.jp-Explora-signature,
.jp-Explora-doc {
  flex: 1 1 100%;
  overflow-wrap: anywhere;
  white-space: pre-wrap;
}

.jp-Explora-signature {
  font-family: var(--jp-code-font-family);
  font-size: 0.9em;
}

.jp-Explora-item > .jp-Explora-buttons,
.jp-Explora-item > .jp-Explora-form {
  margin: 0 8px 6px 20px;
  padding-bottom: 6px;
}

.jp-Explora-item > .jp-Explora-form {
  padding: 8px;
  background: var(--jp-layout-color1);
}

/* ---- editing the plan */

.jp-Explora-editor {
  margin-top: 8px;
}

.jp-Explora-steps {
  counter-reset: step;
}

.jp-Explora-step {
  display: flex;
  gap: 4px;
  margin: 6px 0;
  counter-increment: step;
}

.jp-Explora-step::before {
  content: counter(step) '.';
  flex: none;
  padding-top: 4px;
  font-variant-numeric: tabular-nums;
}

.jp-Explora-stepButtons {
  flex: none;
  display: grid;
  grid-template-columns: 24px 24px;
  gap: 2px;
  align-content: start;
}

.jp-Explora-stepButtons > :last-child {
  grid-column: 2;
}

@container (max-width: 260px) {
  .jp-mod-candidate .jp-Explora-chip {
    order: 1;
  }

  .jp-mod-candidate :is(.jp-Explora-line, .jp-Explora-note) {
    order: 2;
  }

  .jp-Explora-step {
    flex-wrap: wrap;
  }

  .jp-Explora-step > textarea {
    flex: 1 1 70%;
  }

  .jp-Explora-stepButtons {
    grid-template-columns: repeat(3, 24px);
    margin-left: auto;
  }

  .jp-Explora-stepButtons > :last-child {
    grid-column: 3;
  }
}

/* ---- history and empty state */

.jp-Explora-entry {
  box-sizing: border-box;
  display: block;
  width: 100%;
  padding: 6px 4px;
  border: none;
  border-bottom: var(--jp-border-width) solid var(--jp-border-color2);
  background: none;
  color: inherit;
  font: inherit;
  text-align: left;
  cursor: pointer;
}

.jp-Explora-entry.jp-mod-still {
  cursor: auto;
}

.jp-Explora-entry > span {
  display: block;
}

.jp-Explora-entry > .jp-Explora-status {
  display: flex;
}

.jp-Explora-entry:not(.jp-mod-still):hover,
.jp-Explora-entry[aria-current='true'] {
  background: var(--jp-layout-color2);
}

.jp-Explora-entry[aria-current='true'] {
  box-shadow: inset 3px 0 0 var(--jp-brand-color1, currentcolor);
  padding-left: 10px;
}

.jp-Explora-empty p {
  margin: 8px 0;
}

.jp-Explora-empty pre {
  margin: 8px 0;
  padding: 8px;
  border: var(--jp-border-width) solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color0);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}

.jp-Explora-empty pre span {
  white-space: nowrap;
}
`,""]),e.d(o,{},{A:l})},314(r){r.exports=function(r){var o=[];return o.toString=function(){return this.map(function(o){var e="",p=void 0!==o[5];return o[4]&&(e+="@supports (".concat(o[4],") {")),o[2]&&(e+="@media ".concat(o[2]," {")),p&&(e+="@layer".concat(o[5].length>0?" ".concat(o[5]):""," {")),e+=r(o),p&&(e+="}"),o[2]&&(e+="}"),o[4]&&(e+="}"),e}).join("")},o.i=function(r,e,p,a,t){"string"==typeof r&&(r=[[null,r,void 0]]);var l={};if(p)for(var n=0;n<this.length;n++){var i=this[n][0];null!=i&&(l[i]=!0)}for(var d=0;d<r.length;d++){var s=[].concat(r[d]);p&&l[s[0]]||(void 0!==t&&(void 0===s[5]||(s[1]="@layer".concat(s[5].length>0?" ".concat(s[5]):""," {").concat(s[1],"}")),s[5]=t),e&&(s[2]&&(s[1]="@media ".concat(s[2]," {").concat(s[1],"}")),s[2]=e),a&&(s[4]?(s[1]="@supports (".concat(s[4],") {").concat(s[1],"}"),s[4]=a):s[4]="".concat(a)),o.push(s))}},o}},601(r){r.exports=function(r){return r[1]}},72(r){var o=[];function e(r){for(var e=-1,p=0;p<o.length;p++)if(o[p].identifier===r){e=p;break}return e}function p(r,p){for(var a={},t=[],l=0;l<r.length;l++){var n=r[l],i=p.base?n[0]+p.base:n[0],d=a[i]||0,s="".concat(i," ").concat(d);a[i]=d+1;var c=e(s),x={css:n[1],media:n[2],sourceMap:n[3],supports:n[4],layer:n[5]};if(-1!==c)o[c].references++,o[c].updater(x);else{var u=function(r,o){var e=o.domAPI(o);return e.update(r),function(o){o?(o.css!==r.css||o.media!==r.media||o.sourceMap!==r.sourceMap||o.supports!==r.supports||o.layer!==r.layer)&&e.update(r=o):e.remove()}}(x,p);p.byIndex=l,o.splice(l,0,{identifier:s,updater:u,references:1})}t.push(s)}return t}r.exports=function(r,a){var t=p(r=r||[],a=a||{});return function(r){r=r||[];for(var l=0;l<t.length;l++){var n=e(t[l]);o[n].references--}for(var i=p(r,a),d=0;d<t.length;d++){var s=e(t[d]);0===o[s].references&&(o[s].updater(),o.splice(s,1))}t=i}}},659(r){var o={};r.exports=function(r,e){var p=function(r){if(void 0===o[r]){var e=document.querySelector(r);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(r){e=null}o[r]=e}return o[r]}(r);if(!p)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");p.appendChild(e)}},540(r){r.exports=function(r){var o=document.createElement("style");return r.setAttributes(o,r.attributes),r.insert(o,r.options),o}},56(r,o,e){r.exports=function(r){var o=e.nc;o&&r.setAttribute("nonce",o)}},825(r){r.exports=function(r){if("u"<typeof document)return{update:function(){},remove:function(){}};var o=r.insertStyleElement(r);return{update:function(e){var p,a,t;p="",e.supports&&(p+="@supports (".concat(e.supports,") {")),e.media&&(p+="@media ".concat(e.media," {")),(a=void 0!==e.layer)&&(p+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),p+=e.css,a&&(p+="}"),e.media&&(p+="}"),e.supports&&(p+="}"),(t=e.sourceMap)&&"u">typeof btoa&&(p+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(t))))," */")),r.styleTagTransform(p,o,r.options)},remove:function(){var r;null===(r=o).parentNode||r.parentNode.removeChild(r)}}}},113(r){r.exports=function(r,o){if(o.styleSheet)o.styleSheet.cssText=r;else{for(;o.firstChild;)o.removeChild(o.firstChild);o.appendChild(document.createTextNode(r))}}},345(r,o,e){var p=e(72),a=e.n(p),t=e(825),l=e.n(t),n=e(659),i=e.n(n),d=e(56),s=e.n(d),c=e(540),x=e.n(c),u=e(113),j=e.n(u),f=e(33),b={};b.styleTagTransform=j(),b.setAttributes=s(),b.insert=i().bind(null,"head"),b.domAPI=l(),b.insertStyleElement=x(),a()(f.A,b),f.A&&f.A.locals&&f.A.locals;var m=e(938),g={};g.styleTagTransform=j(),g.setAttributes=s(),g.insert=i().bind(null,"head"),g.domAPI=l(),g.insertStyleElement=x(),a()(m.A,g),m.A&&m.A.locals&&m.A.locals;var v=e(734),h={};h.styleTagTransform=j(),h.setAttributes=s(),h.insert=i().bind(null,"head"),h.domAPI=l(),h.insertStyleElement=x(),a()(v.A,h),v.A&&v.A.locals&&v.A.locals}}]);