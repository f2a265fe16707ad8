// Package providertest is what every cloud and every kind of it must do. A
// cloud's tests call Run with a Harness for each kind.
//
//	Run -> subject (a record, driven as the activities drive it) -> cloud.Kind -> the cloud's API
//	  '--> Backend: counts objects and writes, plans faults  -----------------------^
//
// The suite knows a cloud only by the interfaces of package cloud and by its
// Backend, so that it holds for clouds with other identifiers, error shapes and
// paging. It checks what the contract promises: one object per record whatever
// answers get lost, no write without a difference, no touch of what is not
// ours, no secret outside Observed.Secrets, and no panic on any answer.
//
// It waits on conditions and never for a fixed time; a kind that does not
// converge fails with what it waited for.
package providertest
