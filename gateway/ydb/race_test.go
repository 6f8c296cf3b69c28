//go:build race

package ydb_test

const raceDetector = true
