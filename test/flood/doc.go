// Package flood measures one caller's share while another process floods the host.
//
//	go test ./test/flood -run '^$' -bench . -benchtime 5000x
package flood
