// Package conform is the Go client's driver, as docs/conformance.md describes drivers, and the tests that hold the Go
// client to the scripts of protocol/testdata/scripts. Start at Drive.
//
// The package stands on the client's public calls alone, as a program of a user does.
package conform
