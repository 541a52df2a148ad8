// Package backends opens everything that runs tasks on a node, and routes each task to
// it.
//
//	slots ──sleep, exec──────────▶ sleep, process ──▶ guard, logs
//	      ──tasks of applications─▶ [Applications] ─┬─▶ grants.Table ──▶ executors ◀── executors.Manager ◀── frontends
//	                                                ├─▶ grants.Holds ──▶ slots of executors without grants
//	                                                └─▶ app.Registry ──▶ backend processes
//	backend processes ──register, finished──▶ [Service] ──messages──▶ frontends
//
// Tasks of an application that has, or had, executors here are grants; all others go to
// the backend processes that the application has registered.
package backends
