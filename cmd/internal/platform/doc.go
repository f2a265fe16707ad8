// Package platform runs the servers and the parts of the system as child
// processes of a program in the foreground: for development, for the demo and
// for tests.
//
//	Supervisor --starts, watches, restarts--> Process (postgres, temporal, worker, ...)
//	    |                                        |
//	    |                                        +-- NAME.pid   the process id alone, gone when the process is
//	    |                                        +-- log/NAME.log
//	    '-- Lock: one supervisor per state directory
//
// What holds:
//
//   - A child is in a process group of its own, so that Ctrl-C in the terminal
//     reaches the supervisor only and the supervisor ends its children in order:
//     the last one started first.
//   - No child outlives the supervisor. On Linux the kernel signals the children
//     when the supervisor dies, however it dies. Elsewhere, and in the moment
//     between, the next start ends what the pid files name, after it has made sure
//     that the process is the one that was started and not a later owner of the
//     same number.
//   - A child that dies is started again, with a growing pause.
//   - A Postgres cluster and a built tool appear under their final name only when
//     they are complete: an interrupted start leaves nothing half made.
//
// Postgres refuses to run as root. Started by root it runs as an unprivileged
// user; where that user cannot reach the state directory (a checkout below /root),
// the cluster lies elsewhere and a note in the state directory says where.
package platform
