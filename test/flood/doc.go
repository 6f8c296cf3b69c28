// Package flood measures what one caller gets of a host while another process asks for as much as it can.
//
//	go test ./test/flood -run '^$' -bench . -benchtime 5000x
package flood
