// Package quota has the tests of quotas from the client to the log and back, on clusters in memory. Start with
// TestANodeIsFilledEmptiedAndFilledAgain.
package quota
