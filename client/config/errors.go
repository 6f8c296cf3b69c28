package config

import (
	"strconv"

	"github.com/signalbox/signalbox/client/internal/failure"
)

// failed names the operation and its subject in front of an error.
func failed(operation, name string, err error) error {
	return failure.Of("config", operation, strconv.Quote(name), err)
}
