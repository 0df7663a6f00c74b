"use strict";(self.rspackChunkexploracoder_jupyter=self.rspackChunkexploracoder_jupyter||[]).push([[324],{742(r,o,e){var a=e(601),p=e.n(a),t=e(314),l=(e.n(t))()(p());l.push([r.id,`/* The comparison of candidates. Colors come from the theme only, and nothing depends on color alone. */

.jp-Explora-boardWidget {
  min-width: 260px;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.4;
}

.jp-Explora-boardWidget.lm-Widget {
  overflow: hidden;
}

.jp-Explora-boardWidget :where(p, ul, h2, h3, h4) {
  margin: 0;
  padding: 0;
}

.jp-Explora-boardWidget :where(h2, h3, h4) {
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}

.jp-Explora-boardWidget :where(ul) {
  list-style: none;
}

.jp-Explora-boardWidget
  :is(button, select, article, [role='region']):focus-visible {
  outline: var(--jp-focus-outline-width, 2px) solid
    var(--jp-focus-outline-color, var(--jp-brand-color1));
  outline-offset: -2px;
}

/* In an application without a main area for several widgets. */
.jp-Explora-boardWidget.jp-mod-below {
  min-height: 45vh;
}

.jp-Explora-board {
  display: flex;
  flex-direction: column;
  height: 100%;
}

.jp-Explora-boardTop {
  flex: none;
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 2px 16px;
  padding: 8px 12px;
  border-bottom: var(--jp-border-width) solid var(--jp-border-color1);
}

.jp-Explora-boardTop :is(h2, .jp-Explora-note, .jp-Explora-banner) {
  flex: 1 1 100%;
  margin: 0;
}

.jp-Explora-boardTop h2 {
  font-size: var(--jp-ui-font-size2);
}

.jp-Explora-boardTop .jp-Explora-banner {
  padding: 4px 8px;
}

.jp-Explora-boardTop select {
  min-height: 24px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
}

/* ---- columns: the rows of a grid are the label of the group, the head, the code and the result */

.jp-Explora-boardScroll {
  flex: 1 1 auto;
  min-height: 0;
  overflow: auto;
  padding: 0 12px 12px;
}

.jp-Explora-boardGroups {
  display: grid;
  grid-template-rows: auto auto auto 1fr;
  grid-auto-flow: column;
  grid-auto-columns: max-content;
  column-gap: 12px;
  width: max-content;
  min-height: 100%;
}

.jp-Explora-boardGroup {
  grid-row: 1 / -1;
  display: grid;
  grid-template-rows: subgrid;
  grid-template-columns: 100%;
  padding-top: 8px;
}

.jp-Explora-boardGroup > h3 {
  grid-row: 1;
  padding: 2px 8px;
  border-left: 3px solid var(--jp-brand-color1, currentcolor);
  background: var(--jp-layout-color2);
}

.jp-Explora-boardGroup > ul {
  grid-row: 2 / -1;
  display: grid;
  grid-template-rows: subgrid;
  grid-auto-flow: column;
  grid-auto-columns: 360px;
  column-gap: 8px;
}

.jp-Explora-boardGroup.jp-mod-same > ul {
  border-left: 3px solid var(--jp-brand-color1, currentcolor);
}

.jp-Explora-boardGroup > ul > li,
.jp-Explora-boardColumn {
  grid-row: 1 / -1;
  display: grid;
  grid-template-rows: subgrid;
  grid-template-columns: 100%;
  min-width: 0;
}

.jp-Explora-boardColumn {
  padding: 6px 8px;
  border: var(--jp-border-width) solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
}

.jp-Explora-boardColumn.jp-mod-selected {
  border: 2px solid var(--jp-success-color1, currentcolor);
}

.jp-Explora-boardHead {
  padding-bottom: 6px;
}

.jp-Explora-boardHead .jp-Explora-chip {
  margin-left: 6px;
  font-weight: normal;
}

.jp-Explora-boardStatus {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0 8px;
}

.jp-Explora-boardStatus > .jp-Explora-sign {
  align-self: center;
}

.jp-Explora-boardSeconds {
  font-variant-numeric: tabular-nums;
}

.jp-Explora-boardApis {
  font-size: 0.9em;
  overflow-wrap: anywhere;
}

.jp-Explora-boardApis code {
  font-family: var(--jp-code-font-family);
}

/* ---- code */

.jp-Explora-boardCode {
  align-self: start;
  min-height: calc(
    min(var(--jp-explora-lines, 8), 22) * 1em * var(--jp-code-line-height, 1.3)
  );
  max-height: calc(26em * var(--jp-code-line-height, 1.3));
  padding: 4px 0;
  overflow: auto;
  border: var(--jp-border-width) solid var(--jp-cell-editor-border-color);
  background: var(--jp-cell-editor-background);
  color: var(--jp-content-font-color1);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  line-height: var(--jp-code-line-height, 1.3);
  white-space: pre;
}

.jp-Explora-boardCode :is(ins, del) {
  display: block;
  width: max-content;
  min-width: 100%;
  text-decoration: none;
}

.jp-Explora-boardLines {
  display: grid;
  grid-template-columns: 1.4em max-content;
  padding-right: 8px;
}

.jp-Explora-boardLines > * {
  line-height: inherit;
}

.jp-Explora-boardSigns {
  text-align: center;
  user-select: none;
}

.jp-Explora-boardCode code {
  background: none;
  color: inherit;
  font: inherit;
}

.jp-Explora-boardCode ins {
  background: color-mix(
    in srgb,
    var(--jp-success-color1, green) 16%,
    transparent
  );
}

.jp-Explora-boardCode del {
  background: color-mix(in srgb, var(--jp-error-color1, red) 14%, transparent);
}

/* ---- results and the editor */

/* Outputs out of view are not laid out. */
.jp-Explora-boardResult {
  min-width: 0;
  padding-top: 6px;
  overflow-x: auto;
  content-visibility: auto;
  contain-intrinsic-height: auto 200px;
}

.jp-Explora-boardResult .jp-OutputArea-output {
  overflow-x: auto;
}

.jp-Explora-boardForm {
  min-width: 0;
}

.jp-Explora-boardEditor {
  overflow: auto;
  max-height: 60vh;
  border: var(--jp-border-width) solid var(--jp-border-color0);
}

.jp-Explora-boardForm .jp-Explora-note {
  margin-top: 4px;
}
`,""]),e.d(o,{},{A:l})},33(r,o,e){var a=e(601),p=e.n(a),t=e(314),l=(e.n(t))()(p());l.push([r.id,`/*
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

.jp-Explora-badge-toggle:focus-visible,
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

/* Of a candidate that was not carried forward only the badge is shown, as one line. */
.jp-Explora-folded > .jp-Cell-inputWrapper,
.jp-Explora-folded > .jp-Cell-outputWrapper {
  display: none;
}

.jp-Explora-folded .jp-Explora-badge-line {
  flex-wrap: nowrap;
}

.jp-Explora-folded .jp-Explora-badge-line > * {
  flex: none;
}

/* A heading of a run is shown by its badge; what else its cell says stands below. */
.jp-Explora-heading.jp-mod-rendered h3,
.jp-Explora-heading > .jp-showHiddenCellsButton,
.jp-Explora-heading .jp-collapseHeadingButton {
  display: none !important;
}

.jp-Explora-heading.jp-mod-rendered
  > .jp-Cell-inputWrapper:not(:has(.jp-MarkdownOutput > :not(h3))) {
  display: none;
}

.jp-Explora-badge-toggle {
  padding: 0;
  border: none;
  border-radius: var(--jp-border-radius);
  background: none;
  color: inherit;
  font: inherit;
  cursor: pointer;
}

.jp-Explora-folded .jp-Explora-badge-line > .jp-Explora-badge-code,
.jp-Explora-folded .jp-Explora-badge-line > .jp-Explora-badge-result {
  flex: 0 1 auto;
  min-width: 4em;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-Explora-badge-code {
  font-family: var(--jp-code-font-family);
  font-size: 0.95em;
}

/* ---- the buttons below the result card, in line with it */

.jp-Explora-card-buttons {
  display: flex;
  flex-wrap: wrap;
  gap: 6px;
  margin: 0 0 4px
    calc(var(--jp-cell-collapser-width) + var(--jp-cell-prompt-width));
  padding: 2px 0 2px 2px;
  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.6;
}

.jp-Explora-pulse {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 2px 12px;
  margin-inline-start: 6px;
  color: var(--jp-ui-font-color2);
  font-variant-numeric: tabular-nums;
}

.jp-Explora-pulse[hidden] {
  display: none;
}

.jp-Explora-pulse-steps {
  display: flex;
  gap: 4px;
  margin: 0;
  padding: 0;
  list-style: none;
}

.jp-Explora-pulse-steps > li {
  min-width: 44px;
  border-block-start: 3px solid var(--jp-border-color2);
  font-size: var(--jp-ui-font-size0);
  text-align: center;
}

.jp-Explora-pulse-steps > .jp-mod-past {
  border-color: var(--jp-brand-color1);
}

.jp-Explora-pulse-steps > [aria-current] {
  border-color: var(--jp-brand-color1);
  color: var(--jp-ui-font-color1);
  font-weight: bold;
}

@media (prefers-reduced-motion: no-preference) {
  .jp-Explora-pulse-steps > [aria-current] {
    animation: jp-explora-pulse 1.6s ease-in-out infinite;
  }
}

@keyframes jp-explora-pulse {
  50% {
    border-color: var(--jp-border-color2);
  }
}

/* Where JupyterLab shows prompts above the cells. */
@media (width <= 760px) {
  .jp-Explora-card-buttons {
    margin-left: var(--jp-cell-collapser-width);
  }
}

.jp-Explora-card-buttons.lm-mod-hidden {
  display: none;
}

.jp-Explora-card-buttons .jp-Explora-badge-button {
  min-height: 24px;
  padding: 0 8px;
}

.jp-Explora-card-buttons .jp-Explora-badge-button.jp-mod-primary {
  border-color: var(--jp-brand-color1);
  background: var(--jp-brand-color1);
  color: var(--jp-ui-inverse-font-color1);
}

.jp-Explora-card-buttons .jp-Explora-badge-button.jp-mod-primary:hover {
  background: var(--jp-brand-color0);
}

.jp-Explora-card-more::after {
  content: ' ▾' / '';
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
`,""]),e.d(o,{},{A:l})},165(r,o,e){var a=e(601),p=e.n(a),t=e(314),l=(e.n(t))()(p());l.push([r.id,`/* The forms of the sidebar. Colors come from the theme only. */

.jp-Explora-navigationBar {
  flex: none;
  display: flex;
  align-items: center;
  justify-content: space-between;
  gap: 6px;
  padding: 6px 12px 0;
}

.jp-Explora-fieldForm {
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
`,""]),e.d(o,{},{A:l})},938(r,o,e){var a=e(601),p=e.n(a),t=e(314),l=(e.n(t))()(p());l.push([r.id,`/* The sidebar. Colors come from the theme only, and nothing depends on color alone. */

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
`,""]),e.d(o,{},{A:l})},314(r){r.exports=function(r){var o=[];return o.toString=function(){return this.map(function(o){var e="",a=void 0!==o[5];return o[4]&&(e+="@supports (".concat(o[4],") {")),o[2]&&(e+="@media ".concat(o[2]," {")),a&&(e+="@layer".concat(o[5].length>0?" ".concat(o[5]):""," {")),e+=r(o),a&&(e+="}"),o[2]&&(e+="}"),o[4]&&(e+="}"),e}).join("")},o.i=function(r,e,a,p,t){"string"==typeof r&&(r=[[null,r,void 0]]);var l={};if(a)for(var i=0;i<this.length;i++){var n=this[i][0];null!=n&&(l[n]=!0)}for(var d=0;d<r.length;d++){var s=[].concat(r[d]);a&&l[s[0]]||(void 0!==t&&(void 0===s[5]||(s[1]="@layer".concat(s[5].length>0?" ".concat(s[5]):""," {").concat(s[1],"}")),s[5]=t),e&&(s[2]&&(s[1]="@media ".concat(s[2]," {").concat(s[1],"}")),s[2]=e),p&&(s[4]?(s[1]="@supports (".concat(s[4],") {").concat(s[1],"}"),s[4]=p):s[4]="".concat(p)),o.push(s))}},o}},601(r){r.exports=function(r){return r[1]}},72(r){var o=[];function e(r){for(var e=-1,a=0;a<o.length;a++)if(o[a].identifier===r){e=a;break}return e}function a(r,a){for(var p={},t=[],l=0;l<r.length;l++){var i=r[l],n=a.base?i[0]+a.base:i[0],d=p[n]||0,s="".concat(n," ").concat(d);p[n]=d+1;var x=e(s),c={css:i[1],media:i[2],sourceMap:i[3],supports:i[4],layer:i[5]};if(-1!==x)o[x].references++,o[x].updater(c);else{var j=function(r,o){var e=o.domAPI(o);return e.update(r),function(o){o?(o.css!==r.css||o.media!==r.media||o.sourceMap!==r.sourceMap||o.supports!==r.supports||o.layer!==r.layer)&&e.update(r=o):e.remove()}}(c,a);a.byIndex=l,o.splice(l,0,{identifier:s,updater:j,references:1})}t.push(s)}return t}r.exports=function(r,p){var t=a(r=r||[],p=p||{});return function(r){r=r||[];for(var l=0;l<t.length;l++){var i=e(t[l]);o[i].references--}for(var n=a(r,p),d=0;d<t.length;d++){var s=e(t[d]);0===o[s].references&&(o[s].updater(),o.splice(s,1))}t=n}}},659(r){var o={};r.exports=function(r,e){var a=function(r){if(void 0===o[r]){var e=document.querySelector(r);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(r){e=null}o[r]=e}return o[r]}(r);if(!a)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");a.appendChild(e)}},540(r){r.exports=function(r){var o=document.createElement("style");return r.setAttributes(o,r.attributes),r.insert(o,r.options),o}},56(r,o,e){r.exports=function(r){var o=e.nc;o&&r.setAttribute("nonce",o)}},206(r){r.exports=function(r){if("u"<typeof document)return{update:function(){},remove:function(){}};var o=r.insertStyleElement(r);return{update:function(e){var a,p,t;a="",e.supports&&(a+="@supports (".concat(e.supports,") {")),e.media&&(a+="@media ".concat(e.media," {")),(p=void 0!==e.layer)&&(a+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),a+=e.css,p&&(a+="}"),e.media&&(a+="}"),e.supports&&(a+="}"),(t=e.sourceMap)&&"u">typeof btoa&&(a+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(t))))," */")),r.styleTagTransform(a,o,r.options)},remove:function(){var r;null===(r=o).parentNode||r.parentNode.removeChild(r)}}}},113(r){r.exports=function(r,o){if(o.styleSheet)o.styleSheet.cssText=r;else{for(;o.firstChild;)o.removeChild(o.firstChild);o.appendChild(document.createTextNode(r))}}},343(r,o,e){var a=e(72),p=e.n(a),t=e(206),l=e.n(t),i=e(659),n=e.n(i),d=e(56),s=e.n(d),x=e(540),c=e.n(x),j=e(113),u=e.n(j),f=e(33),b={};b.styleTagTransform=u(),b.setAttributes=s(),b.insert=n().bind(null,"head"),b.domAPI=l(),b.insertStyleElement=c(),p()(f.A,b),f.A&&f.A.locals&&f.A.locals;var g=e(938),m={};m.styleTagTransform=u(),m.setAttributes=s(),m.insert=n().bind(null,"head"),m.domAPI=l(),m.insertStyleElement=c(),p()(g.A,m),g.A&&g.A.locals&&g.A.locals;var h=e(742),v={};v.styleTagTransform=u(),v.setAttributes=s(),v.insert=n().bind(null,"head"),v.domAPI=l(),v.insertStyleElement=c(),p()(h.A,v),h.A&&h.A.locals&&h.A.locals;var E=e(165),w={};w.styleTagTransform=u(),w.setAttributes=s(),w.insert=n().bind(null,"head"),w.domAPI=l(),w.insertStyleElement=c(),p()(E.A,w),E.A&&E.A.locals&&E.A.locals}}]);