package config

import "fmt"

// failed names the operation and its subject in front of an error.
func failed(operation, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("config: %s %q: %w", operation, name, err)
}
