package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/signalbox/signalbox/client"
)

// all is the word for client.All, in flags and in what is printed.
const all = "all"

// Amount is a count or a limit. All of an ephemeral semaphore, and a limit that there is none of, is the word all,
// also in JSON, whose readers would not keep so large a number exactly. It is a flag's value as well.
type Amount uint64

// String returns the number, or all.
func (a Amount) String() string {
	if a == client.All {
		return all
	}
	return strconv.FormatUint(uint64(a), 10)
}

// MarshalJSON writes the number, or "all".
func (a Amount) MarshalJSON() ([]byte, error) {
	if a == client.All {
		return json.Marshal(all)
	}
	return strconv.AppendUint(nil, uint64(a), 10), nil
}

// Set reads a number from 1 on, or all.
func (a *Amount) Set(text string) error {
	if text == all {
		*a = Amount(client.All)
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("give a whole number from 1 on, or %s", all)
	}
	*a = Amount(n)
	return nil
}

// Type is the word for the value in the help.
func (a *Amount) Type() string { return "NUMBER" }

// ID is the id of a session. It has up to 20 digits, more than readers of JSON keep exactly, so it is a string there.
type ID uint64

// String returns the id as flags and arguments take it.
func (i ID) String() string { return strconv.FormatUint(uint64(i), 10) }

// MarshalJSON writes the id as a string.
func (i ID) MarshalJSON() ([]byte, error) { return json.Marshal(i.String()) }

// Payload is data of a semaphore, an owner or a waiter, to be embedded in what is printed as JSON: text as data,
// anything that is not UTF-8 as data_base64.
type Payload struct {
	Data   *string `json:"data,omitempty"`
	Base64 []byte  `json:"data_base64,omitempty"`
}

// NewPayload returns data as it is printed.
func NewPayload(data []byte) Payload {
	if utf8.Valid(data) {
		text := string(data)
		return Payload{Data: &text}
	}
	return Payload{Base64: data}
}

// Bytes returns the data.
func (p *Payload) Bytes() []byte {
	if p.Data != nil {
		return []byte(*p.Data)
	}
	return p.Base64
}

// Millis is a duration as it is printed in JSON, in fields whose names end with _ms.
func Millis(d time.Duration) int64 { return d.Milliseconds() }
