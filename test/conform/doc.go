// Package conform is the Go client's driver (see docs/conformance.md), and the tests that run the Go client against the
// scripts in protocol/testdata/scripts. Start at Drive.
//
// The package uses only the client's public API, like a user's program.
package conform
