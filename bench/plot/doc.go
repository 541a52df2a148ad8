// Package plot draws the figures of a report, each as SVG and PNG.
//
//	CDF     distribution of completion times per class, several runs, log axis
//	Bars    percentiles per load and class, relative to one of the runs
//	Series  quantities over time (or over another number), one line per run
//
// A figure is filled in as a small struct and written with WriteFiles(base),
// which makes base.svg and base.png. Panels (such as the two classes) are drawn side
// by side under one title and one legend, which has its own strip and so never
// covers data. A run has the same colour in all panels; the colours are those of
// Okabe and Ito, distinguished by colour-blind readers, and lines differ by dashes
// too, for print without colour.
//
// References are grey.
//
// A figure without data, or with data that its axes cannot show, is an error
// that names the panel; no file is written then.
package plot
