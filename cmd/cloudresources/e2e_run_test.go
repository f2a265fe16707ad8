//go:build unix

package main

import "testing"

// TestEndToEnd runs what needs no system for itself side by side in one: each
// test has a world of its own, and starts from nothing.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"WholeLife", testWholeLife},
		{"LifeOnASharedAccount", testLifeOnASharedAccount},
		{"EveryKind", testEveryKind},
		{"Capacity", testCapacity},
		{"CreateFaults", testCreateFaults},
		{"AccountTrouble", testAccountTrouble},
		{"LaterFaults", testLaterFaults},
		{"FailsAtTheProvider", testFailsAtTheProvider},
		{"InputShape", testInputShape},
		{"InputSize", testInputSize},
		{"InputPlaces", testInputPlaces},
		{"InputConflicts", testInputConflicts},
		{"UnknownPaths", testUnknownPaths},
		{"HandSentSignals", testHandSentSignals},
		{"WorkflowAtRest", testWorkflowAtRest},
		{"IdleCostsNothing", testIdleCostsNothing},
		{"DriftIsRepaired", testDriftIsRepaired},
		{"SecretsChangeAtTheProvider", testSecretsChangeAtTheProvider},
		{"Vanished", testVanished},
		{"LabelsAreKept", testLabelsAreKept},
		{"Adopt", testAdopt},
		{"AdoptionIsCutShort", testAdoptionIsCutShort},
		{"Release", testRelease},
		{"TenantsAreApart", testTenantsAreApart},
		{"Offers", testOffers},
		{"PlatformChanges", testPlatformChanges},
		{"APIKilledBeforeTheSignal", testAPIKilledBeforeTheSignal},
		{"TerminatedWorkflows", testTerminatedWorkflows},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, s.world(t))
		})
	}
}
