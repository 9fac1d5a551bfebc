"""The columns of tables that have rows of Kafka."""

from lake_assets.bronze import rows
from lake_assets.model.sources import KafkaSource
from lake_assets.silver.rows import bronze_names, quarantine_schema, silver_origin
from lake_assets.sources.kafka.source import KafkaTopic

KAFKA = KafkaSource.origin
BRONZE = rows.schema(KafkaTopic.columns)
BRONZE_NAMES = bronze_names(KAFKA)
ORIGIN = silver_origin(KAFKA)
QUARANTINE = quarantine_schema(KAFKA)
