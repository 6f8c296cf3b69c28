// Package flood measures the share that one caller gets while another process floods the host.
//
//	go test ./test/flood -run '^$' -bench . -benchtime 5000x
package flood
