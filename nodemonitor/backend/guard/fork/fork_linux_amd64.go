package fork

const sysPrlimit = 302 // prlimit64
