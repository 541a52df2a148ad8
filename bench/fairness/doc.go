// Package fairness measures on a live cluster how slots are shared between owners: how long
// a small job takes during a flood of another owner, and what part of the slots each of
// several owners that always have work gets.
package fairness
