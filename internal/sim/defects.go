package sim

// Runs with faults find defects of cores. One that is not fixed yet is described here,
// beside a function that avoids it as narrowly as possible unless [Faults.Defects] is set.
// A fix removes its lines. There is none at present.
