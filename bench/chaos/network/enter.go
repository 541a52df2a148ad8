package network

// Variable is set in the environment of a program that [Enter] started. A pigeon that this program
// starts in turn would refuse it.
const Variable = "PIGEON_IN_OWN_NETWORK"
