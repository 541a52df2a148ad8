package fork

const sysPrlimit = 261 // prlimit64
