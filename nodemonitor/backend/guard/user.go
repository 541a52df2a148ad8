package guard

// ownerUmask makes the files of a process accessible to its user only.
const ownerUmask = 0o077
