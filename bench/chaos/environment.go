package chaos

// exitAtOnce returns what a task's environment has beside what every task's has: a program that was
// built with -race would otherwise sleep for a second between its last line and its exit, and be
// killed there when its node is stopped.
func exitAtOnce() []string { return []string{"GORACE=atexit_sleep_ms=0"} }
