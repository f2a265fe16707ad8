package contract

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/xeipuuv/gojsonschema"
)

// describe says in plain words what an error of the validator means; whole
// marks those that only say that some part did not fit. The offending value is
// never repeated: it may be a secret that stands in the wrong place.
func describe(e gojsonschema.ResultError) (words string, whole bool) {
	d := e.Details()
	switch e.(type) {
	case *gojsonschema.RequiredError:
		return "is required", false
	case *gojsonschema.AdditionalPropertyNotAllowedError:
		return "is not a field here", false
	case *gojsonschema.InvalidTypeError:
		return "must be " + typeWords(fmt.Sprint(d["expected"])), false
	case *gojsonschema.EnumError:
		return fmt.Sprintf("must be one of %s", plainText(d["allowed"])), false
	case *gojsonschema.ConstError:
		return fmt.Sprintf("must be %s", plainText(d["allowed"])), false
	case *gojsonschema.DoesNotMatchPatternError:
		return fmt.Sprintf("must match %s", plainText(d["pattern"])), false
	case *gojsonschema.DoesNotMatchFormatError:
		return fmt.Sprintf("must be written as %s", plainText(d["format"])), false
	case *gojsonschema.NumberAnyOfError, *gojsonschema.NumberOneOfError, *gojsonschema.NumberAllOfError,
		*gojsonschema.NumberNotError, *gojsonschema.ConditionThenError, *gojsonschema.ConditionElseError, *gojsonschema.FalseError:
		return "has none of the forms that are allowed", true
	case *gojsonschema.InvalidPropertyNameError, *gojsonschema.InvalidPropertyPatternError:
		return "holds a name that is not allowed", false
	case *gojsonschema.MissingDependencyError:
		return fmt.Sprintf("needs %s beside it", plainText(d["dependency"])), false
	case *gojsonschema.ItemsMustBeUniqueError:
		return "holds the same item twice", false
	case *gojsonschema.ArrayContainsError:
		return "lacks an item that it must hold", false
	}
	return describeSize(e), false
}

// describeSize covers lengths, counts and bounds.
func describeSize(e gojsonschema.ResultError) string {
	d := e.Details()
	switch e.(type) {
	case *gojsonschema.StringLengthGTEError:
		return fmt.Sprintf("must have at least %s characters", plainText(d["min"]))
	case *gojsonschema.StringLengthLTEError:
		return fmt.Sprintf("must have at most %s characters", plainText(d["max"]))
	case *gojsonschema.ArrayMinItemsError:
		return fmt.Sprintf("must have at least %s items", plainText(d["min"]))
	case *gojsonschema.ArrayMaxItemsError, *gojsonschema.ArrayNoAdditionalItemsError:
		return fmt.Sprintf("must have at most %s items", plainText(d["max"]))
	case *gojsonschema.ArrayMinPropertiesError:
		return fmt.Sprintf("must have at least %s fields", plainText(d["min"]))
	case *gojsonschema.ArrayMaxPropertiesError:
		return fmt.Sprintf("must have at most %s fields", plainText(d["max"]))
	case *gojsonschema.NumberGTEError:
		return fmt.Sprintf("must be at least %s", plainText(d["min"]))
	case *gojsonschema.NumberGTError:
		return fmt.Sprintf("must be greater than %s", plainText(d["min"]))
	case *gojsonschema.NumberLTEError:
		return fmt.Sprintf("must be at most %s", plainText(d["max"]))
	case *gojsonschema.NumberLTError:
		return fmt.Sprintf("must be less than %s", plainText(d["max"]))
	case *gojsonschema.MultipleOfError:
		return fmt.Sprintf("must be a multiple of %s", plainText(d["multiple"]))
	}
	return "is not valid"
}

// plainText writes a value of the schema (never of the input).
func plainText(v any) string {
	switch t := v.(type) {
	case nil:
		return "fewer"
	case *big.Rat:
		if t.IsInt() {
			return t.Num().String()
		}
		return strings.TrimRight(t.FloatString(6), "0")
	case string:
		return t
	case fmt.Stringer:
		return t.String()
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

var typeNames = map[string]string{
	"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
	"object": "an object", "array": "a list", "null": "null",
}

// typeWords turns "string" or "string/null" into words.
func typeWords(expected string) string {
	var words []string
	for _, t := range strings.FieldsFunc(expected, func(r rune) bool { return r == '/' || r == ',' || r == '[' || r == ']' || r == ' ' }) {
		if w, ok := typeNames[t]; ok {
			t = w
		}
		words = append(words, t)
	}
	return strings.Join(words, " or ")
}
